// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The policies of a group as words, in the order of their enumerators.

#ifndef LOSSSCALER_CTL_POLICY_WORDS_H_
#define LOSSSCALER_CTL_POLICY_WORDS_H_

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lossscaler/core/group.h"

namespace lossscaler::ctl {

// Of LossPolicy, StragglerPolicy and PartPolicy.
inline constexpr std::array<std::string_view, 3> kLossPolicies = {
    "skip", "proceed", "abort"};
inline constexpr std::array<std::string_view, 4> kStragglerPolicies = {
    "skip", "wait", "abort", "proceed"};
inline constexpr std::array<std::string_view, 2> kPartPolicies = {"all",
                                                                  "each"};

template <typename Enum>
std::string PolicyWord(std::span<const std::string_view> words, Enum policy) {
  return std::string(words[static_cast<std::size_t>(policy)]);
}

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_POLICY_WORDS_H_
