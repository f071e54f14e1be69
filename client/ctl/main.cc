// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>

#include "ctl/command_line.h"
#include "ctl/health.h"
#include "ctl/interrupt.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/process/set_up.h"

namespace {

bool OutIsAbandoned() {
  pollfd out = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&out, 1, /*timeout=*/0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  lossscaler::SetUpProcess();
  // What cannot be written is an error that cleans up after itself, not death.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
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
       .err_is_terminal = isatty(STDERR_FILENO) == 1,
       .out_is_abandoned = OutIsAbandoned});
}
