// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ExitCode: what the process tells its supervisor, and the way from the place
// of the failure to main().
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_EXIT_CODE_H_
#define LOSSSCALER_SERVER_OPS_EXIT_CODE_H_

#include <string_view>

#include "absl/status/status.h"

namespace lossscaler::server {

enum class ExitCode {
  kDrained = 0,
  // The settings are wrong: starting again changes nothing.
  kConfiguration = 1,
  // An address could not be bound, or somebody else has it.
  kBind = 2,
  // The store could not be opened, or another server has it.
  kStore = 3,
  // Calls were still open when the drain ended.
  kDrainTimedOut = 4,
};

// An error that ends the process with `code`, which is not kDrained.
absl::Status MakeExitError(ExitCode code, std::string_view message);

// kDrained for OK; kConfiguration for errors that MakeExitError() did not make.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_EXIT_CODE_H_
