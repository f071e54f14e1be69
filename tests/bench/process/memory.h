// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a process takes of the machine.

#ifndef LOSSSCALER_TESTS_BENCH_PROCESS_MEMORY_H_
#define LOSSSCALER_TESTS_BENCH_PROCESS_MEMORY_H_

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace lossscaler::bench {

struct Footprint {
  double resident_kib = 0;
  // The most that was resident since the program was started.
  double peak_resident_kib = 0;
  double threads = 0;
};

absl::StatusOr<Footprint> FootprintOf(pid_t pid);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_PROCESS_MEMORY_H_
