// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/boottime_clock.h"

#include <time.h>

#include <cerrno>

namespace lossscaler::internal {

absl::Time BoottimeClock::Now() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::TimeFromTimespec(now);
}

void BoottimeClock::Sleep(absl::Duration duration) {
  if (duration <= absl::ZeroDuration()) return;
  // An absolute end, so that signals do not lengthen the sleep.
  const timespec end = absl::ToTimespec(Now() + duration);
  while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &end, nullptr) ==
         EINTR) {
  }
}

}  // namespace lossscaler::internal
