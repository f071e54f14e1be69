// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a worker that waits for a decision costs the server.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_WAITING_MEMORY_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_WAITING_MEMORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/row.h"

namespace lossscaler::bench {

// `workers` wait in sessions of ten, each over a connection of its own, beside
// as many streams on which nothing happens. A fresh server for each round.
absl::StatusOr<std::vector<Row>> MeasureWaiting(const std::string& lossscalerd,
                                                const std::string& directory,
                                                int workers, int rounds);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_WAITING_MEMORY_H_
