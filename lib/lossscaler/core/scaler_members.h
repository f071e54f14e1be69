// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The members of a LossScaler by name: the one list behind its JSON form and
// its DebugString(). Internal to core.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_SCALER_MEMBERS_H_
#define LOSSSCALER_CORE_SCALER_MEMBERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

// The words of each enum of DynamicOptions, in the order of its enumerators.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kWords;
template <>
inline constexpr std::array<std::string_view, 3> kWords<HysteresisRefill> = {
    "on_growth", "on_clean_step", "on_clean_step_or_backoff"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<GrowthCount> = {
    "interval", "one_more_after_overflow", "one_more_always"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<StatePrecision> = {
    "float32", "float32_float64_factors", "float64"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<FiniteGuard> = {
    "hold", "clamp"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<UnscaleArithmetic> = {
    "divide", "multiply_by_reciprocal"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<FloorAction> = {"hold",
                                                                        "mark"};

template <typename Enum>
std::string_view Word(Enum value) {
  return kWords<Enum>[static_cast<std::size_t>(value)];
}

// A double stands for its shortest decimal form: a float32 member is the
// double nearest to the shortest decimal that reads back as that float32
// (0.1, not 0.10000000149011612).
struct ScalerMember {
  std::string_view name;
  std::variant<double, std::int64_t, std::string_view> value;
};

// In the order of writing: the base members always, knobs that differ from
// their defaults and the counters that belong to them. Empty for None.
std::vector<ScalerMember> MembersOf(const LossScaler& scaler);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_SCALER_MEMBERS_H_
