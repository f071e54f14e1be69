// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ServerProcess: a real lossscalerd in a process of its own.
//
// Killed, by its id, and waited for before the object goes, unless it has
// ended.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_TESTING_SERVER_PROCESS_H_
#define LOSSSCALER_TESTS_TESTING_SERVER_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lossscaler::testing {

class ServerProcess {
 public:
  // How a process ended: its exit code, or 128 + the signal that killed it.
  using Exit = int;

  // Starts `binary`; stdout and stderr go to files in `directory`, which
  // outlives this. LOSSSCALERD_* of the test's own environment are taken away,
  // `environment` is added.
  ServerProcess(const std::string& binary, const std::string& directory,
                std::vector<std::string> arguments,
                const std::vector<std::string>& environment = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Waits until `ready_file` is there and returns its lines. Empty if the
  // process has ended instead, or half a minute was not enough.
  std::vector<std::string> WaitUntilReady(const std::string& ready_file);

  // Ignored once the process has been waited for.
  void Signal(int signal);

  // Waits for the end; nullopt if a minute was not enough.
  std::optional<Exit> Wait();

  // What it has written so far.
  std::string Out() const;
  std::string Err() const;

  pid_t pid() const { return pid_; }

 private:
  // Takes note if the process has ended.
  bool HasEnded();

  const std::string out_path_;
  const std::string err_path_;
  pid_t pid_ = 0;
  std::optional<Exit> exit_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_SERVER_PROCESS_H_
