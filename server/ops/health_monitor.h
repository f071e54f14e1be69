// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// HealthMonitor: asks a component how it is, again and again, and reports when
// the answer changes.
//
// Thread safety: any thread. Reports never overlap, and arrive in the order of
// the answers.

#ifndef LOSSSCALER_SERVER_OPS_HEALTH_MONITOR_H_
#define LOSSSCALER_SERVER_OPS_HEALTH_MONITOR_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"
#include "ops/repeater.h"

namespace lossscaler::server {

class HealthMonitor {
 public:
  using Probe = std::function<absl::Status()>;
  using Report = std::function<void(const absl::Status&)>;

  // Neither callable may call the monitor.
  HealthMonitor(Probe probe, Report report);
  HealthMonitor(const HealthMonitor&) = delete;
  HealthMonitor& operator=(const HealthMonitor&) = delete;

  // Probes once, on the calling thread. Reports the first answer, and every
  // change between OK and not OK.
  void Check() ABSL_LOCKS_EXCLUDED(mutex_);

  // Checks every `interval` from now on, on a thread of its own. Once at most.
  void Start(absl::Duration interval) { repeater_.Start(interval); }

  // Ends the thread; no report comes after. May be repeated.
  void Stop() { repeater_.Stop(); }

 private:
  const Probe probe_;
  const Report report_;

  Mutex mutex_;
  std::optional<bool> last_ok_ ABSL_GUARDED_BY(mutex_);

  // Stops before the rest goes.
  Repeater repeater_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_HEALTH_MONITOR_H_
