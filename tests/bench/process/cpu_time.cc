// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/process/cpu_time.h"

#include <time.h>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {

absl::StatusOr<std::int64_t> CpuNanosecondsOf(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  }
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace lossscaler::bench
