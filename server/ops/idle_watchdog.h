// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// IdleWatchdog: tells streams on which nothing has moved for too long.
//
// One thread watches all of them; it sleeps while there is none.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_IDLE_WATCHDOG_H_
#define LOSSSCALER_SERVER_OPS_IDLE_WATCHDOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class IdleWatchdog {
 public:
  using Id = std::uint64_t;
  using Clock = std::chrono::steady_clock;

  // Streams are told within 1.25 times `limit`. Tests inject a clock.
  explicit IdleWatchdog(absl::Duration limit,
                        std::function<Clock::time_point()> now = Clock::now);
  ~IdleWatchdog();

  IdleWatchdog(const IdleWatchdog&) = delete;
  IdleWatchdog& operator=(const IdleWatchdog&) = delete;

  // Calls `on_idle` if Touch() is not called for `limit`: once if it returns
  // true; false says that it is not idle after all, and is as good as Touch().
  // It is called under the watchdog's lock: it must not call the watchdog.
  Id Watch(std::function<bool()> on_idle) ABSL_LOCKS_EXCLUDED(mutex_);
  // Something moved.
  void Touch(Id id) ABSL_LOCKS_EXCLUDED(mutex_);
  // `on_idle` is not running and will not run once this returns.
  void Forget(Id id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Watched {
    Clock::time_point touched;
    std::function<bool()> on_idle;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const Clock::duration limit_;
  const std::function<Clock::time_point()> now_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Id next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<Id, Watched> watched_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_IDLE_WATCHDOG_H_
