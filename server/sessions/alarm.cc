// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/alarm.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/time/time.h"

namespace lossscaler::server {

void Alarm::Stop() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
    changed_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void Alarm::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Alarm::Set(const std::shared_ptr<Sleeper>& sleeper, absl::Time time) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(sleeper.get());
  if (found != entries_.end()) {
    order_.erase({found->second.time, sleeper.get()});
    entries_.erase(found);
  }
  if (time == absl::InfiniteFuture()) return;
  entries_.emplace(sleeper.get(), Entry{.time = time, .sleeper = sleeper});
  const auto place = order_.emplace(time, sleeper.get()).first;
  if (place == order_.begin()) changed_.Signal();
}

std::shared_ptr<Alarm::Sleeper> Alarm::TakeDue() {
  MutexLock lock(&mutex_);
  while (!ending_ && !order_.empty() && order_.begin()->first <= now_()) {
    const auto entry = entries_.find(order_.begin()->second);
    std::shared_ptr<Sleeper> sleeper = entry->second.sleeper.lock();
    entries_.erase(entry);
    order_.erase(order_.begin());
    if (sleeper != nullptr) return sleeper;
  }
  return nullptr;
}

void Alarm::RingDue() {
  while (const std::shared_ptr<Sleeper> sleeper = TakeDue()) sleeper->OnAlarm();
}

void Alarm::Run() {
  while (true) {
    RingDue();
    MutexLock lock(&mutex_);
    if (ending_) return;
    if (order_.empty()) {
      changed_.Wait(&mutex_);
      continue;
    }
    const absl::Duration left = order_.begin()->first - now_();
    if (left <= absl::ZeroDuration()) continue;
    changed_.WaitFor(&mutex_, std::min(left, kLongestSleep));
  }
}

}  // namespace lossscaler::server
