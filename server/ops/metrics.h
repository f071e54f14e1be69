// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics: what the server has done and how it is, as the text that Prometheus
// reads.
//
// Names, types, labels and meanings are in server/README.md, section "Metrics".
// Labels come from closed sets, so that no client can make the text grow;
// the names of sessions are labels only where that was asked for, and at most
// kMaxSessionSeries of them.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_METRICS_H_
#define LOSSSCALER_SERVER_OPS_METRICS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "ops/call_record.h"
#include "sessions/limits.h"
#include "sessions/session_observer.h"

namespace lossscaler::server {

// What others know, at the moment of the question.
struct MetricsSample {
  std::int64_t open_calls = 0;
  std::int64_t unscale_streams = 0;
  // Reserved by open Unscale streams.
  std::int64_t bytes_in_flight = 0;
  std::int64_t watch_streams = 0;
  // As it was last found.
  bool store_healthy = false;
  // Since the start: connections that were ended at once because too many were
  // open, and files that could not take the place of those in force.
  std::int64_t refused_connections = 0;
  std::int64_t failed_tls_reloads = 0;
  std::int64_t failed_token_reloads = 0;
  // When the server's certificate ends; unset: it has none.
  std::optional<absl::Time> certificate_expiry = std::nullopt;
};

// Sessions that have series of their own, if any have.
inline constexpr int kMaxSessionSeries = 1'000;

struct MetricsOptions {
  // Of the server.
  std::string version;
  absl::Time start_time = absl::UnixEpoch();
  std::int64_t start_count = 0;
  Limits limits;
  // Gauges for each session. Costs every change of a session a lock that all
  // sessions share.
  bool sessions = false;
  // Must not block: whoever asks for the text waits for it.
  std::function<MetricsSample()> sample;
};

class Metrics {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Tell them what happens. They live as long as this.
  CallObserver& calls();
  SessionObserver& sessions();
  // The store has answered a write after so long.
  void OnStoreWrite(absl::Duration took, bool done);

  // In the text format of Prometheus, version 0.0.4.
  std::string Text() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_METRICS_H_
