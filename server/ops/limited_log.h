// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The log for events that whoever can reach the server can cause at will: lines
// beyond a rate are left out, and counted in an event log_suppressed.
//
// What was left out is told before the next line that is due, at any time by
// TellSuppressed(), and at the end by TellAllSuppressed().
//
// Thread safety: any thread, at any time. The limit is the process's, as the
// log is.

#ifndef LOSSSCALER_SERVER_OPS_LIMITED_LOG_H_
#define LOSSSCALER_SERVER_OPS_LIMITED_LOG_H_

#include <string_view>

#include "ops/log.h"

namespace lossscaler::server {

// As Log(), within the rate of FloodLimit.
void LimitedLog(LogLevel level, std::string_view event, LogFields fields = {});

// To be called now and then: the end of a flood may be the last event for long.
void TellSuppressed();

// Before the process ends.
void TellAllSuppressed();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_LIMITED_LOG_H_
