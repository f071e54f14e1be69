// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a stream takes of the server's memory.

#ifndef LOSSSCALER_TESTS_BENCH_UNSCALE_SERVER_MEMORY_H_
#define LOSSSCALER_TESTS_BENCH_UNSCALE_SERVER_MEMORY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/row.h"

namespace lossscaler::bench {

// The most that a fresh lossscalerd has resident while one stream moves `bytes`
// in chunks of 1 MiB, above what it has when nobody has called it yet. A row
// for each transport, a server for each round.
absl::StatusOr<std::vector<Row>> MeasureServerMemory(
    const std::string& lossscalerd, const std::string& directory,
    std::size_t bytes, int rounds);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_UNSCALE_SERVER_MEMORY_H_
