// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/scaler_members.h"

#include <charconv>
#include <cstddef>

namespace lossscaler {
namespace {

// Longer than any shortest float32 or float64.
constexpr std::size_t kMaxNumberBytes = 32;

// The double whose shortest decimal is that of `value`.
double ShortestDouble(float value) {
  char text[kMaxNumberBytes];
  const std::to_chars_result written =
      std::to_chars(text, text + sizeof(text), value);
  double result = 0.0;
  std::from_chars(text, written.ptr, result);
  return result;
}

double MemberValue(double value, bool is_float32) {
  return is_float32 ? ShortestDouble(static_cast<float>(value)) : value;
}

template <typename Enum>
void AddIfChanged(std::string_view name, Enum value, Enum default_value,
                  std::vector<ScalerMember>* members) {
  if (value != default_value) members->push_back({name, Word(value)});
}

std::vector<ScalerMember> DynamicMembers(const DynamicOptions& options,
                                         const DynamicState& state) {
  const DynamicOptions defaults;
  const bool float32_scale = options.precision != StatePrecision::kFloat64;
  const bool float32_factors = options.precision == StatePrecision::kFloat32;
  std::vector<ScalerMember> members = {
      {"scale", MemberValue(state.scale, float32_scale)},
      {"growth_factor", MemberValue(options.growth_factor, float32_factors)},
      {"backoff_factor", MemberValue(options.backoff_factor, float32_factors)},
      {"growth_interval", options.growth_interval},
      {"steps_since_overflow", state.steps_since_overflow},
  };
  if (options.min_scale.has_value()) {
    members.push_back(
        {"min_scale", MemberValue(*options.min_scale, float32_scale)});
  }
  if (options.max_scale.has_value()) {
    members.push_back(
        {"max_scale", MemberValue(*options.max_scale, float32_scale)});
  }
  if (options.hysteresis != defaults.hysteresis) {
    members.push_back({"hysteresis", options.hysteresis});
    members.push_back({"hysteresis_left", state.hysteresis_left});
  }
  AddIfChanged("hysteresis_refill", options.hysteresis_refill,
               defaults.hysteresis_refill, &members);
  AddIfChanged("growth_count", options.growth_count, defaults.growth_count,
               &members);
  AddIfChanged("precision", options.precision, defaults.precision, &members);
  AddIfChanged("finite_guard", options.finite_guard, defaults.finite_guard,
               &members);
  AddIfChanged("unscale_arithmetic", options.unscale_arithmetic,
               defaults.unscale_arithmetic, &members);
  AddIfChanged("floor_action", options.floor_action, defaults.floor_action,
               &members);
  if (options.max_consecutive_skips != defaults.max_consecutive_skips) {
    members.push_back({"max_consecutive_skips", options.max_consecutive_skips});
    members.push_back({"consecutive_skips", state.consecutive_skips});
  }
  return members;
}

}  // namespace

std::vector<ScalerMember> MembersOf(const LossScaler& scaler) {
  if (scaler.is_dynamic()) {
    return DynamicMembers(scaler.dynamic_options(), scaler.dynamic_state());
  }
  if (scaler.is_static()) {
    return {{"scale", MemberValue(scaler.scale(), /*is_float32=*/true)}};
  }
  return {};
}

}  // namespace lossscaler
