// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <iostream>

#include "absl/synchronization/mutex.h"
#include "ctl/command_line.h"
#include "ctl/health.h"
#include "lossscaler/client/connection.h"

int main(int argc, char** argv) {
  // Debian's Abseil looks for deadlocks in every lock that gRPC takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return lossscaler::ctl::RunCommandLine(
      argc, argv,
      {.out = std::cout,
       .err = std::cerr,
       .connect =
           [](const lossscaler::ClientOptions& options) {
             return lossscaler::MakeConnection(options);
           },
       .is_serving = lossscaler::ctl::IsServing});
}
