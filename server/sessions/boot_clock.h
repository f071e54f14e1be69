// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The clock of leases and timers.

#ifndef LOSSSCALER_SERVER_SESSIONS_BOOT_CLOCK_H_
#define LOSSSCALER_SERVER_SESSIONS_BOOT_CLOCK_H_

#include "absl/time/time.h"

namespace lossscaler::server {

// Time since the machine was started, as if that had been the Unix epoch. Never
// goes back, is not set by anybody, and runs on while the machine is suspended:
// as the clock of a client on another machine does, whose lease it is. What a
// suspended server missed is made up for; see Session::SetTime().
absl::Time BootTime();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_BOOT_CLOCK_H_
