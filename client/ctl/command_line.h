// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_COMMAND_LINE_H_
#define LOSSSCALER_CTL_COMMAND_LINE_H_

#include "ctl/commands.h"

namespace lossscaler::ctl {

// Reads the command line, runs the command and returns its ExitCode.
int RunCommandLine(int argc, const char* const* argv,
                   const Environment& environment);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_COMMAND_LINE_H_
