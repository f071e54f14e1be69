// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Rounds: contestants measured in turn, so that what disturbs the machine
// disturbs them alike.

#ifndef LOSSSCALER_TESTS_BENCH_REPORT_ROUNDS_H_
#define LOSSSCALER_TESTS_BENCH_REPORT_ROUNDS_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::bench {

// Measures every contestant once in each round (A B C, A B C, ...):
// result[contestant][round]. The first error ends it.
template <typename Measurement>
absl::StatusOr<std::vector<std::vector<Measurement>>> Interleave(
    int rounds, const std::vector<std::function<absl::StatusOr<Measurement>()>>&
                    contestants) {
  std::vector<std::vector<Measurement>> results(contestants.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      absl::StatusOr<Measurement> measured = contestants[i]();
      if (!measured.ok()) return measured.status();
      results[i].push_back(*std::move(measured));
    }
  }
  return results;
}

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_REPORT_ROUNDS_H_
