// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/health_monitor.h"

#include <utility>

namespace lossscaler::server {

HealthMonitor::HealthMonitor(Probe probe, Report report)
    : probe_(std::move(probe)),
      report_(std::move(report)),
      repeater_([this] { Check(); }) {}

void HealthMonitor::Check() {
  MutexLock lock(&mutex_);
  const absl::Status status = probe_();
  if (last_ok_ == status.ok()) return;
  last_ok_ = status.ok();
  report_(status);
}

}  // namespace lossscaler::server
