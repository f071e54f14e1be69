// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ServerProcess: a real lossscalerd in a process of its own.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_TESTING_SERVER_PROCESS_H_
#define LOSSSCALER_TESTS_TESTING_SERVER_PROCESS_H_

#include <string>
#include <vector>

#include "testing/spawned_process.h"

namespace lossscaler::testing {

class ServerProcess : public SpawnedProcess {
 public:
  // Its admin port is any free one unless `arguments` or `environment` say
  // otherwise.
  ServerProcess(const std::string& binary, const std::string& directory,
                std::vector<std::string> arguments,
                std::vector<std::string> environment = {});

  // Waits until `ready_file` is there and returns its lines. Empty if the
  // process has ended instead, or half a minute was not enough.
  std::vector<std::string> WaitUntilReady(const std::string& ready_file);
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_SERVER_PROCESS_H_
