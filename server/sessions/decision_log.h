// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// DecisionLog: the decisions of one session, the latest from memory and the
// rest from the journal.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_SESSIONS_DECISION_LOG_H_
#define LOSSSCALER_SERVER_SESSIONS_DECISION_LOG_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/answers.h"
#include "store/store.h"

namespace lossscaler::server {

class DecisionLog {
 public:
  // `store` outlives the log. `retry_delay`: what STORE_UNAVAILABLE asks
  // callers to wait.
  DecisionLog(Store* store, absl::Duration retry_delay)
      : store_(store), retry_delay_(retry_delay) {}

  // What is in memory: the latest decisions, oldest first, at most
  // kDecisionsInMemory.
  void Assign(const std::vector<Decision>& recent) ABSL_LOCKS_EXCLUDED(mutex_);
  void Append(const Decision& decision) ABSL_LOCKS_EXCLUDED(mutex_);

  std::optional<Decision> Last() const ABSL_LOCKS_EXCLUDED(mutex_);

  // STEP_FORGOTTEN if the journal does not have it; STORE_UNAVAILABLE.
  absl::StatusOr<Decision> FindStep(const SessionState& state,
                                    std::int64_t step) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The decision of a decided step or, if its number was passed over (see
  // PassOverLost()), of the next one; nullopt: that is yet to come.
  // STEP_FORGOTTEN, STORE_UNAVAILABLE.
  absl::StatusOr<std::optional<Decision>> FindNext(const SessionState& state,
                                                   std::int64_t step) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The oldest step whose decision the journal has; the open one if there is
  // none. STORE_UNAVAILABLE.
  absl::StatusOr<std::int64_t> FirstKept(const SessionState& state) const;

  // Newest first. STORE_UNAVAILABLE.
  absl::StatusOr<std::vector<Decision>> List(const SessionState& state,
                                             const DecisionQuery& query) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The latest decision that a request made; nullopt: none. STORE_UNAVAILABLE.
  absl::StatusOr<std::optional<Decision>> FindRequest(
      std::string_view uid, std::string_view request_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for a restore: INVALID_FIELD if the id is that of a vote.
  absl::StatusOr<std::optional<Decision>> FindRestore(
      std::string_view uid, std::string_view request_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status CouldNotRead(const absl::Status& status) const;

  Store* const store_;
  const absl::Duration retry_delay_;
  mutable Mutex mutex_;
  std::deque<Decision> recent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_DECISION_LOG_H_
