// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Whether a session gets anywhere (rule R12).
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_DEGRADED_H_
#define LOSSSCALER_CORE_DEGRADED_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lossscaler/core/decision.h"

namespace lossscaler {

inline constexpr std::size_t kDegradedWorkersShown = 32;

// What is wrong with a session whose decisions are all in order.
struct Degraded {
  // In words, with the numbers.
  std::string reason;
  // The workers that overflowed in the last decision, at most
  // kDegradedWorkersShown of them; the decision has them all.
  std::vector<std::string> workers;

  friend bool operator==(const Degraded&, const Degraded&) = default;
};

// Set if the session has skipped kDegradedSkips steps in a row (in a group, its
// config's number), or if the last decision found the scale at its floor.
// `last` is the session's last decision, if it has one.
std::optional<Degraded> DegradedBy(const SessionState& state,
                                   const Decision* last);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_DEGRADED_H_
