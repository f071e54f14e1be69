// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sharded_trainer/launcher/stage.h"

namespace lossscaler::sharded {
namespace {

constexpr char kRow[] = "%-18s  %8s  %13s  %20s  %15s\n";

struct Counts {
  // Iterations in which exactly one rank's shard overflowed.
  int one_overflow = 0;
  // Iterations that some ranks applied and some did not.
  int disagreed = 0;
};

Counts Count(const std::vector<std::vector<SeenStep>>& seen) {
  std::map<std::int64_t, int> overflows;
  std::map<std::int64_t, std::set<std::string>> outcomes;
  for (const auto& steps : seen) {
    for (const SeenStep& step : steps) {
      overflows[step.iteration] += step.overflow ? 1 : 0;
      outcomes[step.iteration].insert(step.outcome);
    }
  }
  Counts counts;
  for (const auto& [iteration, count] : overflows) {
    if (count == 1) ++counts.one_overflow;
    if (outcomes[iteration].size() > 1) ++counts.disagreed;
  }
  return counts;
}

std::string Row(const std::string& title, const Finish& finish,
                const Counts& counts) {
  // A loss has no sign, even where it is NaN.
  return absl::StrFormat(
      kRow, title, absl::StrFormat("%.4f", std::abs(finish.loss)),
      absl::StrFormat("%.1f %%", 100.0 * finish.accuracy),
      absl::StrCat(counts.one_overflow), absl::StrCat(counts.disagreed));
}

}  // namespace

absl::Status SideBySide(Stage& stage) {
  absl::StatusOr<Ranks> together = stage.MakeRun("together");
  if (!together.ok()) return together.status();
  std::cout << "Four processes, one network in quarters, " << stage.iterations()
            << " steps: with one decision per step ..." << std::endl;
  absl::Status status = together->StartAll();
  if (!status.ok()) return status;
  const absl::StatusOr<std::vector<Finish>> finish = together->AwaitEnd();
  if (!finish.ok()) return finish.status();

  absl::StatusOr<Ranks> alone = stage.MakeRun("alone");
  if (!alone.ok()) return alone.status();
  std::cout << "... and with each rank deciding alone." << std::endl;
  status = alone->StartAll({"--alone"});
  if (!status.ok()) return status;
  const absl::StatusOr<std::vector<Finish>> alone_finish = alone->AwaitEnd();
  if (!alone_finish.ok()) return alone_finish.status();

  const auto seen = together->Seen();
  if (!seen.ok()) return seen.status();
  const auto alone_seen = alone->Seen();
  if (!alone_seen.ok()) return alone_seen.status();
  const Counts counts = Count(*seen);
  const Counts alone_counts = Count(*alone_seen);
  std::cout << "\n"
            << absl::StrFormat(kRow, "decided by", "loss", "test accuracy",
                               "overflow on one rank", "ranks disagreed")
            << Row("the service", finish->front(), counts)
            << Row("each rank alone", alone_finish->front(), alone_counts)
            << std::endl;

  const absl::StatusOr<std::vector<Decision>> log =
      stage.CheckLog("together", *together);
  if (!log.ok()) return log.status();
  stage.CheckFinish(*finish);
  stage.claims.Check(counts.one_overflow > 0,
                     "gradients overflowed on one rank only, and all skipped");
  stage.claims.Check(counts.disagreed == 0, "the ranks never disagreed");
  stage.claims.Check(finish->front().accuracy > 0.9,
                     "the network has learnt its digits");
  stage.claims.Check(alone_counts.disagreed > 0 &&
                         !(alone_finish->front().loss <= finish->front().loss),
                     "deciding alone they disagree, and learn less");
  return absl::OkStatus();
}

}  // namespace lossscaler::sharded
