// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a process takes of the processors.

#ifndef LOSSSCALER_TESTS_BENCH_PROCESS_CPU_TIME_H_
#define LOSSSCALER_TESTS_BENCH_PROCESS_CPU_TIME_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace lossscaler::bench {

// Nanoseconds that all threads of a process have run since it began, in its own
// code and in the kernel: utime + stime of /proc/PID/stat, which counts in
// hundredths of a second and would not do for a round.
absl::StatusOr<std::int64_t> CpuNanosecondsOf(pid_t pid);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_PROCESS_CPU_TIME_H_
