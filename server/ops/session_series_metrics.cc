// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/session_series_metrics.h"

#include <algorithm>
#include <utility>

#include "ops/sampled_metrics.h"

namespace lossscaler::server {

void SessionSeries::OnChange(const SessionChange& change) {
  MutexLock lock(&mutex_);
  if (change.after == nullptr) {
    // Its name may belong to another session by now.
    const auto found = sessions_.find(change.before->name);
    if (found != sessions_.end() && found->second.uid == change.before->uid) {
      sessions_.erase(found);
    }
    return;
  }
  const auto [found, is_new] = sessions_.try_emplace(change.after->name);
  Session& session = found->second;
  if (session.uid != change.after->uid) {
    // The same: this is the last word of the one before it.
    if (!is_new && change.before != nullptr) return;
    session = Session();
    session.uid = change.after->uid;
  }
  session.scale = change.after->scaler.scale();
  session.step = change.after->step;
  if (change.decision != nullptr) {
    session.last_decision = change.decision->decide_time;
  }
}

std::vector<prometheus::MetricFamily> SessionSeries::Collect() const {
  std::vector<std::pair<std::string, double>> scales;
  std::vector<std::pair<std::string, double>> steps;
  std::vector<std::pair<std::string, double>> times;
  std::size_t left_out = 0;
  {
    MutexLock lock(&mutex_);
    left_out = sessions_.size() - std::min(limit_, sessions_.size());
    for (const auto& [name, session] : sessions_) {
      if (scales.size() == limit_) break;
      scales.emplace_back(name, session.scale);
      steps.emplace_back(name, static_cast<double>(session.step));
      times.emplace_back(name, absl::ToDoubleSeconds(session.last_decision -
                                                     absl::UnixEpoch()));
    }
  }
  return {
      GaugeFamily("lossscaler_session_scale", "The loss scale of a session.",
                  "session", scales),
      GaugeFamily("lossscaler_session_step",
                  "The number of a session's next decision.", "session", steps),
      GaugeFamily("lossscaler_session_last_decision_timestamp_seconds",
                  "Unix time of a session's last decision in seconds; 0: none "
                  "since the server started.",
                  "session", times),
      GaugeFamily("lossscaler_session_metrics_left_out",
                  "Sessions beyond the first 1,000 by name, which have no "
                  "series of their own.",
                  static_cast<double>(left_out)),
  };
}

}  // namespace lossscaler::server
