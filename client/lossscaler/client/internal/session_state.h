// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_SESSION_STATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_SESSION_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/session.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler {

// What the copies of a Session share: what is known of the session, what the
// trainer's parameters contain, and what was asked without an answer.
//
// Thread safety: any thread, at any time. No lock is held during a call.
struct Session::State {
 public:
  State(std::shared_ptr<Connection> connection_in, const SessionInfo& info);

  // Where the session stands, as far as is known.
  Current current() const;
  // The same, but with the base of the trainer's parameters.
  Current BeginAt() const;

  std::int64_t base() const;
  void set_base(std::int64_t base);
  // The caller has been told `decision`: if it applies, the caller's
  // parameters contain it from now on.
  void Told(const Decision& decision);

  // Takes what the server says unless something newer is known: a replayed
  // answer may be older than another thread's.
  void Learn(const Current& heard);
  // Takes from an error that what is known is not true any more.
  void Learn(const absl::Status& error);

  absl::StatusOr<SessionInfo> Refresh();

  // Sends a vote. One that gets no answer may be recorded all the same: it is
  // kept, for Settle().
  absl::StatusOr<Decision> SendVote(
      std::int64_t step, const Vote& vote,
      std::optional<absl::Duration> single_attempt);
  // Whether a vote on `step` is kept that got no answer.
  bool HasUnanswered(std::int64_t step) const;
  // Repeats the vote that got no answer, if there is one, and asks where the
  // session stands if that is in doubt. No network otherwise.
  absl::Status Settle();

  absl::StatusOr<Decision> Restore(const LossScaler& scaler);

  const std::shared_ptr<Connection> connection;
  const SessionRef ref;
  const LossScaler config;

 private:
  struct CastVote {
    std::int64_t step = 0;
    Vote vote;
  };
  struct AskedRestore {
    LossScaler scaler;
    std::int64_t if_epoch = 0;
    std::string request_id;
  };

  absl::Status CatchUp();

  mutable Mutex mutex_;
  Current current_ ABSL_GUARDED_BY(mutex_);
  std::int64_t base_ ABSL_GUARDED_BY(mutex_);
  // The server contradicts current_, or (ahead_) is behind it.
  bool doubtful_ ABSL_GUARDED_BY(mutex_) = false;
  bool ahead_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<CastVote> unanswered_vote_ ABSL_GUARDED_BY(mutex_);
  std::optional<AskedRestore> unanswered_restore_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_INTERNAL_SESSION_STATE_H_
