// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Process: a child process that does not outlive its launcher.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_PROCESS_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::sharded {

// Move-only. Destroyed while it runs, the process is killed.
//
// Thread safety: one thread at a time, the same one for all processes.
class Process {
 public:
  // `output` is a file that what it prints is appended to.
  static absl::StatusOr<Process> Start(const std::vector<std::string>& command,
                                       const std::string& output);

  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  enum class State { kRunning, kStopped, kEnded };
  // As of now. kStopped is said once of each stop.
  State Poll();
  // 128 + the signal that ended it. REQUIRES: kEnded.
  int exit_code() const { return exit_code_; }

  void Signal(int signal) const;
  // Blocks until it has ended.
  void Wait();

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  State Take(int status);

  // 0: there is none, or it has ended.
  pid_t pid_ = 0;
  int exit_code_ = 0;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_PROCESS_H_
