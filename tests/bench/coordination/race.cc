// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/coordination/race.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/report/rounds.h"

namespace lossscaler::bench {

std::vector<double> RaceResult::Of(std::string_view name,
                                   double RoundResult::*figure) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  std::vector<double> figures;
  for (const RoundResult& round :
       rounds[static_cast<std::size_t>(found - names.begin())]) {
    figures.push_back(round.*figure);
  }
  return figures;
}

absl::StatusOr<RaceResult> Run(const RaceOptions& options,
                               const std::vector<Contestant>& contestants) {
  RaceResult result{.workers = options.workers, .names = {}, .rounds = {}};
  std::vector<WorkerGroup> groups;
  std::vector<std::int64_t> steps;
  for (const Contestant& contestant : contestants) {
    absl::StatusOr<WorkerGroup> group =
        WorkerGroup::Start(contestant, options.workers);
    if (!group.ok()) return group.status();
    const absl::StatusOr<std::int64_t> fit =
        group->StepsIn(options.seconds_per_round);
    if (!fit.ok()) return fit.status();
    result.names.push_back(contestant.name);
    groups.push_back(*std::move(group));
    steps.push_back(*fit);
  }
  std::vector<std::function<absl::StatusOr<RoundResult>()>> measures;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    measures.emplace_back(
        [&group = groups[i], count = steps[i]] { return group.Run(count); });
  }
  absl::StatusOr<std::vector<std::vector<RoundResult>>> rounds =
      Interleave(options.rounds, measures);
  if (!rounds.ok()) return rounds.status();
  result.rounds = *std::move(rounds);
  return result;
}

}  // namespace lossscaler::bench
