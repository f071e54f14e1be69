// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>
#include <unistd.h>

#include <iostream>

#include "absl/synchronization/mutex.h"
#include "ctl/command_line.h"
#include "ctl/health.h"
#include "ctl/interrupt.h"
#include "lossscaler/client/connection.h"

// SIGPIPE keeps its default: who reads no further ends us without a word.
int main(int argc, char** argv) {
  // Debian's Abseil looks for deadlocks in every lock that gRPC takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // An error is one line, of ours.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  // Never deleted: a signal may come until the very end.
  auto* const unfinished_files = new lossscaler::ctl::UnfinishedFiles;
  lossscaler::ctl::HandleInterrupts(unfinished_files);
  return lossscaler::ctl::RunCommandLine(
      argc, argv,
      {.out = std::cout,
       .err = std::cerr,
       .connect =
           [](const lossscaler::ClientOptions& options) {
             return lossscaler::MakeConnection(options);
           },
       .is_serving = lossscaler::ctl::IsServing,
       .unfinished_files = *unfinished_files,
       .err_is_terminal = isatty(STDERR_FILENO) == 1});
}
