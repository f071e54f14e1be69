// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/launcher/decision_log.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lossscaler::sharded {
namespace {

bool SupportsApply(const Vote& vote, const Decision& decision) {
  return vote.resolved == Verdict::kFinite &&
         vote.scale_used == decision.scale_before &&
         vote.base == decision.base_before;
}

}  // namespace

absl::StatusOr<std::vector<Decision>> ListAll(Connection& connection,
                                              const std::string& session) {
  std::vector<Decision> log;
  ListDecisionsCall call;
  do {
    absl::StatusOr<DecisionPage> page =
        connection.ListDecisions({.name = session}, call);
    if (!page.ok()) return page.status();
    std::move(page->decisions.begin(), page->decisions.end(),
              std::back_inserter(log));
    call.page_token = page->next_page_token;
  } while (!call.page_token.empty());
  std::reverse(log.begin(), log.end());
  return log;
}

absl::StatusOr<std::vector<Decision>> WatchAll(Connection& connection,
                                               const std::string& session,
                                               std::int64_t last_step) {
  std::vector<Decision> log;
  const absl::Status status = connection.WatchSession(
      {.name = session}, {.from_step = 1}, [&](const Decision& decision) {
        log.push_back(decision);
        return decision.step < last_step;
      });
  if (!status.ok()) return status;
  return log;
}

std::vector<std::string> Conflicts(
    const std::vector<Decision>& log, LossScaler scaler,
    const std::vector<std::vector<SeenStep>>& seen) {
  std::vector<std::string> conflicts;
  const auto expect = [&](bool holds, std::int64_t step, std::string what) {
    if (!holds) conflicts.push_back(absl::StrCat("step ", step, ": ", what));
  };

  Current current = {.scale = scaler.scale()};
  bool restored = false;
  for (const Decision& decision : log) {
    expect(decision.step == current.step, decision.step,
           absl::StrCat("is where step ", current.step, " should be"));
    expect(decision.scale_before == current.scale, decision.step,
           "has another scale than the step before left");
    expect(decision.base_before == current.base, decision.step,
           "builds on another base than the step before left");
    expect(decision.epoch_after >= current.epoch, decision.step,
           "falls back to an earlier epoch");
    restored = restored || decision.reason == DecisionReason::kRestored;
    if (!restored && (decision.outcome == Outcome::kApply ||
                      decision.outcome == Outcome::kSkipOverflow)) {
      scaler.Update(decision.overflow);
      expect(decision.scale_after == scaler.scale(), decision.step,
             "moves the scale elsewhere than its outcome says");
    }
    if (decision.apply()) {
      expect(decision.votes.size() == seen.size() &&
                 std::all_of(decision.votes.begin(), decision.votes.end(),
                             [&](const Vote& vote) {
                               return SupportsApply(vote, decision);
                             }),
             decision.step, "applies although not every rank found it finite");
    }
    current = {.step = decision.step + 1,
               .scale = decision.scale_after,
               .base = decision.base_after,
               .epoch = decision.epoch_after};
  }

  for (std::size_t rank = 0; rank < seen.size(); ++rank) {
    for (const SeenStep& step : seen[rank]) {
      const auto at = std::find_if(
          log.begin(), log.end(),
          [&](const Decision& decision) { return decision.step == step.step; });
      expect(at != log.end() && OutcomeName(at->outcome) == step.outcome &&
                 at->scale_after == step.scale_after,
             step.step,
             absl::StrCat("rank ", rank, " was told otherwise than the log"));
    }
  }
  return conflicts;
}

}  // namespace lossscaler::sharded
