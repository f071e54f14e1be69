// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Alarm: wakes things at their time.
//
// One thread for all of them, however many wait. It sleeps until the earliest
// deadline, or kLongestSleep: a machine that was suspended, or a clock that a
// test moves, is noticed after that.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_SESSIONS_ALARM_H_
#define LOSSSCALER_SERVER_SESSIONS_ALARM_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class Alarm {
 public:
  static constexpr absl::Duration kLongestSleep = absl::Milliseconds(100);

  class Sleeper {
   public:
    virtual ~Sleeper() = default;
    // Called on the alarm's thread, or in RingDue(); may call Set().
    virtual void OnAlarm() = 0;
  };

  // Monotonic time.
  using Now = std::function<absl::Time()>;

  explicit Alarm(Now now) : now_(std::move(now)) {}
  ~Alarm() { Stop(); }

  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Starts the thread. Without it only RingDue() wakes anybody. Call once.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the thread; nobody is woken any more. Not to be called by a sleeper.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Wakes `sleeper` once, when `time` has come, in place of what was set for it
  // before; never, with InfiniteFuture. One that is gone by then is forgotten.
  void Set(const std::shared_ptr<Sleeper>& sleeper, absl::Time time)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Wakes everybody whose time has come, on the calling thread.
  void RingDue() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    absl::Time time;
    std::weak_ptr<Sleeper> sleeper;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Sleeper> TakeDue() ABSL_LOCKS_EXCLUDED(mutex_);

  const Now now_;

  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<const Sleeper*, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Their times, earliest first.
  std::set<std::pair<absl::Time, const Sleeper*>> order_
      ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_ALARM_H_
