// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics, calls and sessions for their tests, made by hand.

#ifndef LOSSSCALER_TESTS_UNIT_SERVER_OPS_METRICS_FIXTURE_H_
#define LOSSSCALER_TESTS_UNIT_SERVER_OPS_METRICS_FIXTURE_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "ops/metrics.h"
#include "testing/prometheus_text.h"

namespace lossscaler::server {

// A call that has ended.
class EndedCall final : public CallRecord {
 public:
  EndedCall(Method method, absl::Status status, absl::Duration took)
      : method_(method), status_(std::move(status)), took_(took) {}

  Method method() const override { return method_; }
  const absl::Status& status() const override { return status_; }
  absl::Duration took() const override { return took_; }
  const Caller* caller() const override { return nullptr; }
  std::string_view session() const override { return "a"; }
  std::string_view worker() const override { return ""; }
  std::optional<std::int64_t> step() const override { return std::nullopt; }
  std::string peer() const override { return ""; }
  std::string call_id() const override { return ""; }

 private:
  const Method method_;
  const absl::Status status_;
  const absl::Duration took_;
};

// 2026-01-02 03:04:05 UTC.
inline absl::Time MetricsStart() {
  return absl::FromUnixSeconds(1'767'323'045);
}

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() { MakeMetrics(/*sessions=*/false); }

  void MakeMetrics(bool sessions) {
    MetricsOptions options;
    options.version = "1.2.3";
    options.start_time = MetricsStart();
    options.start_count = 7;
    options.limits = {.max_sessions = 11,
                      .max_unscale_streams = 12,
                      .max_bytes_in_flight = 13,
                      .max_open_calls = 14,
                      .max_watch_streams = 15};
    options.sessions = sessions;
    options.sample = [this] { return sample_; };
    metrics_ = std::make_unique<Metrics>(std::move(options));
  }

  lossscaler::testing::PrometheusText Text() const {
    absl::StatusOr<lossscaler::testing::PrometheusText> text =
        lossscaler::testing::PrometheusText::Parse(metrics_->Text());
    if (!text.ok()) {
      ADD_FAILURE() << text.status();
      return {};
    }
    return *std::move(text);
  }

  std::optional<double> Value(std::string_view series) const {
    return Text().Find(series);
  }

  void EndCall(Method method, absl::Status status, absl::Duration took) {
    metrics_->calls().OnCallEnd(EndedCall(method, std::move(status), took));
  }

  void Change(Cause cause, const SessionState* before,
              const SessionState* after, const Decision* decision = nullptr,
              std::vector<WorkerChange> workers = {}) {
    SessionChange change;
    change.cause = cause;
    change.before = before;
    change.after = after;
    change.decision = decision;
    change.workers = std::move(workers);
    metrics_->sessions().OnChange(change);
  }

  MetricsSample sample_;
  std::unique_ptr<Metrics> metrics_;
};

inline SessionState SoloSession(std::string name, std::string uid) {
  SessionState state;
  state.name = std::move(name);
  state.uid = std::move(uid);
  state.scaler = *LossScaler::Dynamic(1024, 2, 2000);
  return state;
}

// One member in each of the states.
inline SessionState GroupSession(std::string name,
                                 const std::vector<MemberState>& members) {
  SessionState state = SoloSession(std::move(name), "group-uid");
  state.group.emplace();
  for (const MemberState member : members) {
    state.group->members.emplace_back().state = member;
  }
  return state;
}

}  // namespace lossscaler::server

#endif  // LOSSSCALER_TESTS_UNIT_SERVER_OPS_METRICS_FIXTURE_H_
