// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/idle_watchdog.h"

#include <functional>
#include <utility>

#include "absl/time/time.h"

namespace lossscaler::server {

IdleWatchdog::IdleWatchdog(absl::Duration limit,
                           std::function<Clock::time_point()> now)
    : limit_(absl::ToChronoNanoseconds(limit)),
      now_(std::move(now)),
      thread_([this] { Run(); }) {}

IdleWatchdog::~IdleWatchdog() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.Signal();
  thread_.join();
}

IdleWatchdog::Id IdleWatchdog::Watch(std::function<bool()> on_idle) {
  Id id;
  {
    MutexLock lock(&mutex_);
    id = next_id_++;
    watched_[id] = {.touched = now_(), .on_idle = std::move(on_idle)};
  }
  changed_.Signal();
  return id;
}

void IdleWatchdog::Touch(Id id) {
  MutexLock lock(&mutex_);
  const auto found = watched_.find(id);
  if (found != watched_.end()) found->second.touched = now_();
}

void IdleWatchdog::Forget(Id id) {
  MutexLock lock(&mutex_);
  watched_.erase(id);
}

void IdleWatchdog::Run() {
  MutexLock lock(&mutex_);
  while (!stopping_) {
    if (watched_.empty()) {
      changed_.Wait(&mutex_);
      continue;
    }
    changed_.WaitFor(&mutex_, absl::FromChrono(limit_) / 4);
    const Clock::time_point now = now_();
    for (auto it = watched_.begin(); it != watched_.end();) {
      if (now - it->second.touched < limit_) {
        ++it;
        continue;
      }
      if (it->second.on_idle()) {
        it = watched_.erase(it);
      } else {
        it->second.touched = now;
        ++it;
      }
    }
  }
}

}  // namespace lossscaler::server
