// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SpawnedProcess: a program in a process of its own.
//
// Killed, by its id, and waited for before the object goes, unless it has
// ended.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_TESTING_SPAWNED_PROCESS_H_
#define LOSSSCALER_TESTS_TESTING_SPAWNED_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lossscaler::testing {

class SpawnedProcess {
 public:
  // How a process ended: its exit code, or 128 + the signal that killed it.
  using Exit = int;

  // Starts `binary`; stdout and stderr go to files in `directory`, which
  // outlives this. LOSSSCALERD_* of the test's own environment are taken away,
  // `environment` is added.
  SpawnedProcess(const std::string& binary, const std::string& directory,
                 std::vector<std::string> arguments,
                 const std::vector<std::string>& environment = {});
  ~SpawnedProcess();
  SpawnedProcess(const SpawnedProcess&) = delete;
  SpawnedProcess& operator=(const SpawnedProcess&) = delete;

  // Ignored once the process has been waited for.
  void Signal(int signal);

  // Waits until the process stands still (SIGSTOP); false if it has ended
  // instead, or half a minute was not enough.
  bool WaitUntilStopped();

  // Waits for the end; nullopt if a minute was not enough.
  std::optional<Exit> Wait();

  // Takes note if the process has ended.
  bool HasEnded();
  // Unset while it runs, as far as was noted.
  std::optional<Exit> exit() const { return exit_; }

  // What it has written so far.
  std::string Out() const;
  std::string Err() const;

  pid_t pid() const { return pid_; }

 private:
  const std::string out_path_;
  const std::string err_path_;
  pid_t pid_ = 0;
  bool stopped_ = false;
  std::optional<Exit> exit_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_SPAWNED_PROCESS_H_
