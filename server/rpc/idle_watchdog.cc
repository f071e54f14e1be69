// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/idle_watchdog.h"

#include <functional>
#include <utility>

#include "absl/time/time.h"

namespace lossscaler::server {

IdleWatchdog::IdleWatchdog(absl::Duration limit)
    : limit_(absl::ToChronoNanoseconds(limit)), thread_([this] { Run(); }) {}

IdleWatchdog::~IdleWatchdog() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.Signal();
  thread_.join();
}

IdleWatchdog::Id IdleWatchdog::Watch(std::function<void()> on_idle) {
  Id id;
  {
    MutexLock lock(&mutex_);
    id = next_id_++;
    watched_[id] = {.touched = Clock::now(), .on_idle = std::move(on_idle)};
  }
  changed_.Signal();
  return id;
}

void IdleWatchdog::Touch(Id id) {
  MutexLock lock(&mutex_);
  const auto found = watched_.find(id);
  if (found != watched_.end()) found->second.touched = Clock::now();
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
    const Clock::time_point now = Clock::now();
    for (auto it = watched_.begin(); it != watched_.end();) {
      if (now - it->second.touched < limit_) {
        ++it;
        continue;
      }
      it->second.on_idle();
      it = watched_.erase(it);
    }
  }
}

}  // namespace lossscaler::server
