// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A race: gradients of one shape on their way to a server and back, by all
// contestants in interleaved rounds.

#ifndef LOSSSCALER_TESTS_BENCH_UNSCALE_RACE_H_
#define LOSSSCALER_TESTS_BENCH_UNSCALE_RACE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/process/transport.h"
#include "bench/report/row.h"
#include "bench/unscale/contestants.h"

namespace lossscaler::bench {

struct RaceOptions {
  Transport transport = Transport::kUnix;
  std::size_t chunk_bytes = 0;
  std::size_t streams = 1;
  // Nothing comes back but verdicts.
  bool check_only = false;
  int rounds = 5;
  // One way, by one contestant in one round, over all its streams. Before the
  // first round each moves a quarter of it, which is not counted.
  std::size_t bytes_per_round = 0;

  // The case that the targets are for.
  bool has_targets() const;
};

// What one contestant did in one round.
struct RoundResult {
  // Payload, one way.
  double gigabytes_per_second = 0;
  double server_ns_per_byte = 0;
  double client_ns_per_byte = 0;
};

struct RaceResult {
  RaceOptions options;
  std::vector<std::string> names;
  // [contestant][round]
  std::vector<std::vector<RoundResult>> rounds;

  // One figure of a contestant in every round; empty if it did not take part.
  std::vector<double> Of(std::string_view name,
                         double RoundResult::*figure) const;
};

absl::StatusOr<RaceResult> Run(const RaceOptions& options,
                               const Servers& servers);

// The library beside each of the others, where there are targets also by what
// it takes of the server; and the others.
std::vector<Row> Rows(const RaceResult& race);

// What people look at first: a contestant a line.
std::string Overview(const RaceResult& race);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_UNSCALE_RACE_H_
