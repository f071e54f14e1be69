// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/repeater.h"

#include <utility>

namespace lossscaler::server {

Repeater::Repeater(std::function<void()> task) : task_(std::move(task)) {}

Repeater::~Repeater() { Stop(); }

void Repeater::Start(absl::Duration interval) {
  thread_ = std::thread([this, interval] { Run(interval); });
}

void Repeater::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    stop_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Repeater::Run(absl::Duration interval) {
  while (true) {
    task_();
    MutexLock lock(&mutex_);
    // A spurious wake only makes the next run come early.
    if (!stopping_) stop_.WaitFor(&mutex_, interval);
    if (stopping_) return;
  }
}

}  // namespace lossscaler::server
