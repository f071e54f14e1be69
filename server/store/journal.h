// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What every store keeps of decisions and deletions, and how they are found.

#ifndef LOSSSCALER_SERVER_STORE_JOURNAL_H_
#define LOSSSCALER_SERVER_STORE_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "lossscaler/core/decision.h"

namespace lossscaler::server {

// Deletions that are remembered, over all sessions.
inline constexpr std::int64_t kDeletionsKept = 10'000;

// The request id a decision is found by: of the restore or of the vote that
// made it; empty if neither had one. Where a session used one twice, the later
// decision is found.
inline std::string_view RequestIdOf(const Decision& decision) {
  if (!decision.request_id.empty()) return decision.request_id;
  for (const Vote& vote : decision.votes) {
    if (!vote.request_id.empty()) return vote.request_id;
  }
  return {};
}

// The iterations that the votes of a decision name.
struct Iterations {
  // The only one; unset if there is none or several.
  std::optional<std::int64_t> one;
  bool several = false;
};
Iterations IterationsOf(const Decision& decision);

bool NamesIteration(const Decision& decision, std::int64_t iteration);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_JOURNAL_H_
