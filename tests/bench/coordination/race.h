// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A race: all contestants with groups of one size, in interleaved rounds.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_RACE_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_RACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/coordination/contestants.h"
#include "bench/coordination/worker_group.h"
#include "bench/report/row.h"

namespace lossscaler::bench {

struct RaceOptions {
  int workers = 2;
  int rounds = 5;
  double seconds_per_round = 0.5;
};

struct RaceResult {
  int workers = 0;
  std::vector<std::string> names;
  // [contestant][round]
  std::vector<std::vector<RoundResult>> rounds;

  // One figure of a contestant in every round; empty if it did not take part.
  std::vector<double> Of(std::string_view name,
                         double RoundResult::*figure) const;
};

absl::StatusOr<RaceResult> Run(const RaceOptions& options,
                               const std::vector<Contestant>& contestants);

// p50, p99 and decisions per second of everybody beside the bare vote.
std::vector<Row> MeasuredRows(const RaceResult& race);

// p50 beside what the targets name.
std::vector<Row> TargetRows(const RaceResult& race);

// What people look at first: a contestant a line.
std::string Overview(const RaceResult& race);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_RACE_H_
