// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerProcess: a child process that measures something when told to.
//
// Both sides of its pipes are here: Tell() and Receive() are the driver's,
// ServeRounds() is the worker's.

#ifndef LOSSSCALER_TESTS_BENCH_PROCESS_WORKER_PROCESS_H_
#define LOSSSCALER_TESTS_BENCH_PROCESS_WORKER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::bench {

// Killed by its id, and waited for, when the object goes.
//
// Thread safety: one thread.
class WorkerProcess {
 public:
  // `command` is the program and its arguments; it says what goes wrong on this
  // process's stderr.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(
      std::vector<std::string> command);

  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Asks for `count` measurements; Receive() waits for them.
  absl::Status Tell(std::int64_t count);
  // What the worker has measured; its first answer comes unasked, is empty and
  // says that it is ready.
  absl::StatusOr<std::vector<std::int64_t>> Receive();

  pid_t pid() const { return pid_; }

 private:
  WorkerProcess(std::string name, pid_t pid, int to, int from)
      : name_(std::move(name)), pid_(pid), to_(to), from_(from) {}

  const std::string name_;
  const pid_t pid_;
  const int to_;
  const int from_;
};

// The worker's side: says that it is ready and answers each request with what
// `measure(count)` returns, until the driver is gone. An error ends it.
absl::Status ServeRounds(
    const std::function<absl::StatusOr<std::vector<std::int64_t>>(
        std::int64_t count)>& measure);

// Ends this process when the driver is gone, whatever it is doing.
void DieWithDriver();

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_PROCESS_WORKER_PROCESS_H_
