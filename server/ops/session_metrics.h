// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SessionMetrics: counts what happens in sessions, all of them together.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_OPS_SESSION_METRICS_H_
#define LOSSSCALER_SERVER_OPS_SESSION_METRICS_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "ops/counter_table_metrics.h"
#include "ops/session_series_metrics.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "sessions/session_observer.h"

namespace lossscaler::server {

class SessionMetrics final : public SessionObserver {
 public:
  // `registry` outlives this, and so does `series`, which hears of every
  // change; null: nobody does.
  SessionMetrics(prometheus::Registry* registry, SessionSeries* series);

  void OnChange(const SessionChange& change) override;
  void OnVote() override;
  void OnVoteAnswered(absl::Duration waited, bool decided) override;
  void OnUnscaled(std::int64_t bytes, const UnscaleVerdict& verdict) override;

 private:
  // Either may be null.
  void CountPopulation(const SessionState* before, const SessionState* after);
  void CountDecision(const SessionState& after, const Decision& decision);

  SessionSeries* const series_;

  CounterTable decisions_;
  prometheus::Counter& floored_;
  prometheus::Counter& saturated_;
  prometheus::Counter& degraded_;
  prometheus::Gauge& last_decision_;
  prometheus::Histogram& decision_wait_;
  prometheus::Gauge& waiting_votes_;

  prometheus::Family<prometheus::Gauge>& sessions_;
  prometheus::Gauge& solo_sessions_;
  prometheus::Gauge& group_sessions_;
  prometheus::Family<prometheus::Gauge>& workers_;
  prometheus::Gauge& pending_workers_;
  prometheus::Gauge& active_workers_;
  prometheus::Counter& joined_;
  prometheus::Counter& left_;
  prometheus::Counter& expired_;
  prometheus::Counter& replaced_;

  prometheus::Counter& unscaled_bytes_;
  prometheus::Counter& unscaled_elements_;
  prometheus::Family<prometheus::Counter>& non_finite_;
  prometheus::Counter& nans_;
  prometheus::Counter& infinities_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SESSION_METRICS_H_
