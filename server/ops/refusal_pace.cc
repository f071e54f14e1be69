// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/refusal_pace.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace lossscaler::server {

RefusalPace::RefusalPace() : thread_([this] { Run(); }) {}

RefusalPace::~RefusalPace() {
  End();
  thread_.join();
}

void RefusalPace::Refuse(std::function<void()> refuse) {
  {
    MutexLock lock(&mutex_);
    const Clock::time_point now = Clock::now();
    last_ = std::clamp<Clock::time_point>(
        last_ + kInterval, now - kAtOnce * kInterval, now + kLongest);
    if (!ended_ && last_ > now && waiting_.size() < kMostWaiting) {
      waiting_.emplace_back(last_, std::move(refuse));
      changed_.SignalAll();
      return;
    }
  }
  refuse();
}

void RefusalPace::End() {
  MutexLock lock(&mutex_);
  ended_ = true;
  changed_.SignalAll();
}

void RefusalPace::Run() {
  while (true) {
    std::function<void()> refuse;
    {
      MutexLock lock(&mutex_);
      while (!ended_ || !waiting_.empty()) {
        if (waiting_.empty()) {
          changed_.Wait(&mutex_);
          continue;
        }
        const Clock::duration left = waiting_.front().first - Clock::now();
        if (ended_ || left <= Clock::duration::zero()) break;
        changed_.WaitFor(&mutex_, absl::FromChrono(left));
      }
      if (waiting_.empty()) return;
      refuse = std::move(waiting_.front().second);
      waiting_.pop_front();
    }
    refuse();
  }
}

}  // namespace lossscaler::server
