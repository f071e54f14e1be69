// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A race of one server with itself: what well-behaved clients wait for while
// nobody else calls, and while others flood it.

#ifndef LOSSSCALER_TESTS_BENCH_FLOOD_RACE_H_
#define LOSSSCALER_TESTS_BENCH_FLOOD_RACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/row.h"

namespace lossscaler::bench {

struct RaceOptions {
  std::string lossscalerd;
  int rounds = 15;
  // Of each kind in one round, quiet and again under flood.
  std::int64_t calls = 500;
  // Connections of calls that are refused, two on each, and calls that are
  // answered, all on one connection.
  int connections = 64;
  int answered_calls = 200;
};

struct Latency {
  double p50 = 0;
  double p99 = 0;
};

struct RoundResult {
  // In microseconds.
  Latency quiet_update;
  Latency quiet_vote;
  Latency flooded_update;
  Latency flooded_vote;
  double refused_per_second = 0;
  double answered_per_second = 0;
};

absl::StatusOr<std::vector<RoundResult>> Run(const RaceOptions& options);

// p99 under flood beside p99 of quiet.
std::vector<Row> Rows(const std::vector<RoundResult>& rounds);

// What people look at first.
std::string Overview(const std::vector<RoundResult>& rounds);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_FLOOD_RACE_H_
