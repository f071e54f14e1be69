// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Repeater: does something again and again, on a thread of its own.
//
// Thread safety: Stop() may be called from any thread; everything else from
// one.

#ifndef LOSSSCALER_SERVER_OPS_REPEATER_H_
#define LOSSSCALER_SERVER_OPS_REPEATER_H_

#include <functional>
#include <thread>

#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class Repeater {
 public:
  // `task` does not call the repeater.
  explicit Repeater(std::function<void()> task);
  // Stops.
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

  // Runs the task now and every `interval` from then on. Once at most.
  void Start(absl::Duration interval);

  // Ends the thread, after the run that is under way. May be repeated.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run(absl::Duration interval) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<void()> task_;

  Mutex mutex_;
  CondVar stop_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_REPEATER_H_
