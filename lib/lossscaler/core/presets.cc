// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/presets.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

constexpr double kTwoTo14 = 16384.0;
constexpr double kTwoTo15 = 32768.0;
constexpr double kTwoTo16 = 65536.0;
constexpr double kTwoTo24 = 16777216.0;
constexpr double kTwoTo32 = 4294967296.0;

// Factors are 2 and 1/2 everywhere, which is DynamicOptions' default.
struct Preset {
  std::string_view name;
  DynamicOptions options;
};

constexpr Preset kPresets[] = {
    {"apex_amp",
     {.initial_scale = kTwoTo16,
      .growth_interval = 2000,
      .max_scale = kTwoTo24,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"apex_fp16_utils",
     {.initial_scale = kTwoTo32,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    // A kernel whose caller gives every value: those of PyTorch, from which it
    // descends, and Megatron's hysteresis.
    {"apex_hysteresis",
     {.initial_scale = kTwoTo16,
      .growth_interval = 2000,
      .hysteresis = 2,
      .hysteresis_refill = HysteresisRefill::kOnCleanStep,
      .precision = StatePrecision::kFloat32Float64Factors,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"colossal",
     {.initial_scale = kTwoTo16,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .max_scale = kTwoTo32,
      .hysteresis = 2}},
    // Without a configured initial_scale_power; hysteresis is ignored there.
    {"deepspeed_fused",
     {.initial_scale = kTwoTo32,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .growth_count = GrowthCount::kOneMoreAfterOverflow,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"deepspeed_unfused",
     {.initial_scale = kTwoTo16,
      .growth_interval = 1000,
      .min_scale = 0.25,
      .growth_count = GrowthCount::kOneMoreAfterOverflow,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    // Raises an exception at its minimum: here, the update is `floored`.
    {"deepspeed_zero",
     {.initial_scale = kTwoTo16,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .hysteresis = 2,
      .growth_count = GrowthCount::kOneMoreAfterOverflow,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal,
      .floor_action = FloorAction::kMark}},
    {"deepspeed_zero_consecutive",
     {.initial_scale = kTwoTo16,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .hysteresis = 2,
      .hysteresis_refill = HysteresisRefill::kOnCleanStep,
      .growth_count = GrowthCount::kOneMoreAfterOverflow,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal,
      .floor_action = FloorAction::kMark}},
    // The class, not the command line, whose interval depends on the number of
    // workers. Raises an exception at 1e-4, not only below: the minimum
    // here is the next double, so that the same update is `floored`.
    {"fairseq",
     {.initial_scale = kTwoTo15,
      .growth_interval = 2000,
      .min_scale = 1.0000000000000002e-4,
      .precision = StatePrecision::kFloat64,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal,
      .floor_action = FloorAction::kMark}},
    {"flax",
     {.initial_scale = kTwoTo16,
      .growth_interval = 2000,
      .growth_count = GrowthCount::kOneMoreAlways,
      .finite_guard = FiniteGuard::kClamp}},
    // The initial scale is the caller's: that of its documentation.
    {"jmp",
     {.initial_scale = kTwoTo15,
      .growth_interval = 2000,
      .min_scale = 1.0,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"keras3", {.initial_scale = kTwoTo15, .growth_interval = 2000}},
    {"megatron",
     {.initial_scale = kTwoTo32,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .hysteresis = 2,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    // Raises an exception at the 1,001st overflow in a row: here, `stalled`.
    {"mindspore_manager",
     {.initial_scale = kTwoTo24,
      .growth_interval = 2000,
      .min_scale = 1.0,
      .precision = StatePrecision::kFloat64,
      .max_consecutive_skips = 1001}},
    {"openseq2seq_backoff",
     {.initial_scale = kTwoTo14,
      .growth_interval = 2000,
      .min_scale = 1.0,
      .max_scale = kTwoTo14,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"ort",
     {.initial_scale = kTwoTo16,
      .growth_interval = 2000,
      .min_scale = 1.0,
      .max_scale = kTwoTo24,
      .precision = StatePrecision::kFloat64}},
    // decr_every_n_nan_or_inf is hysteresis.
    {"paddle",
     {.initial_scale = kTwoTo16,
      .growth_interval = 2000,
      .hysteresis_refill = HysteresisRefill::kOnCleanStepOrBackoff,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"paddle_kernel",
     {.initial_scale = kTwoTo15,
      .growth_interval = 1000,
      .min_scale = 1.0,
      .hysteresis_refill = HysteresisRefill::kOnCleanStepOrBackoff,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"pytorch",
     {.initial_scale = kTwoTo16,
      .growth_interval = 2000,
      .precision = StatePrecision::kFloat32Float64Factors,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
    {"tensorlogic", {.initial_scale = kTwoTo15, .growth_interval = 2000}},
    {"tf_keras",
     {.initial_scale = kTwoTo15,
      .growth_interval = 2000,
      .min_scale = 1.0,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal}},
};

constexpr auto kPresetNames = [] {
  std::array<std::string_view, std::size(kPresets)> names;
  std::transform(std::begin(kPresets), std::end(kPresets), names.begin(),
                 [](const Preset& preset) { return preset.name; });
  return names;
}();
static_assert(std::is_sorted(kPresetNames.begin(), kPresetNames.end()));

}  // namespace

absl::StatusOr<DynamicOptions> PresetOptions(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.options;
  }
  const std::string known = absl::StrJoin(
      kPresetNames, ", ",
      [](std::string* out, auto known_name) { out->append(known_name); });
  return MakeError(
      Reason::kInvalidScaler,
      absl::StrCat("there is no preset ", Quoted(name), "; use one of ", known),
      {{"preset", Quoted(name)}, {"presets", known}});
}

std::span<const std::string_view> PresetNames() { return kPresetNames; }

}  // namespace lossscaler
