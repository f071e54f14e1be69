// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/degraded.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler {

std::optional<Degraded> DegradedBy(const SessionState& state,
                                   const Decision* last) {
  const std::int64_t limit =
      state.group ? state.group->config.degraded_skips : kDegradedSkips;
  Degraded degraded;
  if (state.consecutive_skips >= limit) {
    degraded.reason =
        absl::StrCat(state.consecutive_skips, " steps in a row were skipped");
  } else if (last != nullptr && last->floored) {
    degraded.reason =
        absl::StrCat("gradients overflow although the scale is ",
                     NumberText(last->scale_after), ", the lowest it may be");
  } else {
    return std::nullopt;
  }
  if (last == nullptr) return degraded;
  for (const Vote& vote : last->votes) {
    if (degraded.workers.size() == kDegradedWorkersShown) break;
    if (vote.resolved == Verdict::kOverflow && !vote.worker.empty()) {
      degraded.workers.push_back(vote.worker);
    }
  }
  return degraded;
}

}  // namespace lossscaler
