// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/journal.h"

#include <algorithm>

namespace lossscaler::server {

Iterations IterationsOf(const Decision& decision) {
  Iterations iterations;
  for (const Vote& vote : decision.votes) {
    if (!vote.iteration || vote.iteration == iterations.one) continue;
    if (iterations.one) return {.one = std::nullopt, .several = true};
    iterations.one = vote.iteration;
  }
  return iterations;
}

bool NamesIteration(const Decision& decision, std::int64_t iteration) {
  return std::any_of(
      decision.votes.begin(), decision.votes.end(),
      [&](const Vote& vote) { return vote.iteration == iteration; });
}

}  // namespace lossscaler::server
