// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// One number of two, the same on every machine and in every run.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_MIXED_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_MIXED_H_

#include <cstdint>

namespace lossscaler::testing {

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t Mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t mixed = a + 0x9e3779b97f4a7c15 * (b + 1);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_MIXED_H_
