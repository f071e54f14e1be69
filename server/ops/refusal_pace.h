// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// RefusalPace: how fast a server refuses what is beyond its limits.
//
// Who calls again as soon as he is refused would be refused as fast as the
// server can, in everybody else's time. So of many refusals each waits a moment
// longer than the one before, at most a second: as long as RetryInfo asks for.
// A few are given at once.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_REFUSAL_PACE_H_
#define LOSSSCALER_SERVER_OPS_REFUSAL_PACE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class RefusalPace {
 public:
  using Clock = std::chrono::steady_clock;

  // In the long run one in each interval; so many at once after a silence.
  static constexpr std::chrono::milliseconds kInterval{10};
  static constexpr int kAtOnce = 100;
  static constexpr std::chrono::seconds kLongest{1};
  // Each keeps its call, and what that asked for, until then.
  static constexpr std::size_t kMostWaiting = 256;

  RefusalPace();
  // Gives all that wait.
  ~RefusalPace();

  RefusalPace(const RefusalPace&) = delete;
  RefusalPace& operator=(const RefusalPace&) = delete;

  // Calls `refuse` once: now, or later on a thread of its own.
  void Refuse(std::function<void()> refuse) ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives all that wait, and from now on each at once.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  // When the last one was due.
  Clock::time_point last_ ABSL_GUARDED_BY(mutex_);
  // In the order in which they are due.
  std::deque<std::pair<Clock::time_point, std::function<void()>>> waiting_
      ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_REFUSAL_PACE_H_
