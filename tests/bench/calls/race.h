// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A race: so many callers on one channel, of all contestants, in interleaved
// rounds.

#ifndef LOSSSCALER_TESTS_BENCH_CALLS_RACE_H_
#define LOSSSCALER_TESTS_BENCH_CALLS_RACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/calls/contestants.h"
#include "bench/process/transport.h"
#include "bench/report/row.h"

namespace lossscaler::bench {

struct RaceOptions {
  Transport transport = Transport::kUnix;
  // Each has one call under way.
  int callers = 1;
  int rounds = 5;
  // By one contestant; see Contestant::slow. Before the first round each makes
  // as many that are not counted.
  std::int64_t calls_per_round = 0;
};

// What one contestant did in one round.
struct RoundResult {
  double calls_per_second = 0;
  // From a call to its answer, in microseconds.
  double p50 = 0;
  double p99 = 0;
  double server_us_per_call = 0;
  double client_us_per_call = 0;
};

struct RaceResult {
  RaceOptions options;
  std::vector<std::string> names;
  // [contestant][round]
  std::vector<std::vector<RoundResult>> rounds;

  // One figure of a contestant, which took part, in every round.
  std::vector<double> Of(std::string_view name,
                         double RoundResult::*figure) const;
};

absl::StatusOr<RaceResult> Run(const RaceOptions& options,
                               const std::vector<Contestant>& contestants);

// Everybody beside the ping: with one caller how long a call takes, with many
// how many there are in a second; and the ping.
std::vector<Row> Rows(const RaceResult& race);

// What people look at first: a contestant a line.
std::string Overview(const RaceResult& race);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_CALLS_RACE_H_
