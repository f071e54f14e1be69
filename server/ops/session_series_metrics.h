// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SessionSeries: the gauges of each session by its name, for those who asked
// for them.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_OPS_SESSION_SERIES_METRICS_H_
#define LOSSSCALER_SERVER_OPS_SESSION_SERIES_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"
#include "prometheus/metric_family.h"
#include "sessions/session_observer.h"

namespace lossscaler::server {

class SessionSeries {
 public:
  // Shows the first `limit` sessions by name.
  explicit SessionSeries(std::size_t limit) : limit_(limit) {}

  void OnChange(const SessionChange& change) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<prometheus::MetricFamily> Collect() const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Session {
    std::string uid;
    double scale = 1.0;
    std::int64_t step = 1;
    absl::Time last_decision = absl::UnixEpoch();
  };

  const std::size_t limit_;
  mutable Mutex mutex_;
  std::map<std::string, Session> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SESSION_SERIES_METRICS_H_
