// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// How a command says that it failed.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_FAILURE_H_
#define LOSSSCALER_CTL_FAILURE_H_

#include <string_view>

#include "absl/status/status.h"
#include "ctl/environment.h"
#include "ctl/exit_code.h"

namespace lossscaler::ctl {

// What the process ends with after `error`. Bad input is wrong usage whoever
// finds it, client or server, since the same command fails again whatever the
// server holds; a state that forbids the command is a refusal.
//
// REQUIRES: !error.ok().
ExitCode ExitCodeOf(const absl::Status& error);

// Writes `error` to `err`, as one line, and returns ExitCodeOf(error):
//
//   lossscalerctl: SESSION_NOT_FOUND: no session "a"
//   {"error":{"reason":"SESSION_NOT_FOUND","code":"NOT_FOUND",
//             "message":"no session \"a\"","metadata":{"session":"a"}}}
//
// The reason of an error that has none is its code.
int Fail(const Environment& environment, Format format,
         const absl::Status& error);

// A command line that says nothing, or contradicts itself. Writes `what` and
// where to read more, and returns kWrongUsage:
//
//   lossscalerctl: --cert needs --key; see `lossscalerctl get --help`
//
// The reason, in JSON, is "WRONG_USAGE". `command` is empty where none is
// known.
int WrongUsage(const Environment& environment, Format format,
               std::string_view command, std::string_view what);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_FAILURE_H_
