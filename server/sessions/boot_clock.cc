// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/boot_clock.h"

#include <time.h>

#include "absl/time/time.h"

namespace lossscaler::server {

absl::Time BootTime() {
  timespec now = {};
  // Cannot fail: the clock exists since Linux 2.6.39.
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace lossscaler::server
