// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/health_monitor.h"

#include <utility>

namespace lossscaler::server {

HealthMonitor::HealthMonitor(Probe probe, Report report)
    : probe_(std::move(probe)), report_(std::move(report)) {}

HealthMonitor::~HealthMonitor() { Stop(); }

void HealthMonitor::Check() {
  MutexLock lock(&check_mutex_);
  const absl::Status status = probe_();
  if (last_ok_ == status.ok()) return;
  last_ok_ = status.ok();
  report_(status);
}

void HealthMonitor::Start(absl::Duration interval) {
  thread_ = std::thread([this, interval] { Run(interval); });
}

void HealthMonitor::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    stop_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

void HealthMonitor::Run(absl::Duration interval) {
  while (true) {
    Check();
    MutexLock lock(&mutex_);
    // A spurious wake only makes the next check come early.
    if (!stopping_) stop_.WaitFor(&mutex_, interval);
    if (stopping_) return;
  }
}

}  // namespace lossscaler::server
