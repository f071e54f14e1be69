// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_WORKER_STATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_WORKER_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/internal/open_votes.h"
#include "lossscaler/client/internal/worker_link.h"
#include "lossscaler/client/worker_checkpoint.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {

// What a worker's step begins with.
struct BegunStep {
  Current current;
  // What the worker's parameters contain.
  Base base;
  std::optional<std::int64_t> iteration;
};

// What a WorkerSession and its steps share: the link, and what the worker's
// parameters contain.
//
// The scaler is kept in step with the decisions (it is a function of them), so
// that workers at the same point of their programs save the same one, although
// the session may have gone on: an OVERFLOW of another decides the next step
// early.
//
// Thread safety: any thread, at any time, but for Join(), Rejoin(), Leave() and
// Stop(), one of which runs at a time. No lock is held during a call.
class WorkerState {
 public:
  // `join` is who joins, and with what; its request_id is filled in here.
  WorkerState(std::shared_ptr<Connection> connection_in,
              const SessionInfo& info, LinkOptions options, JoinEvent join);
  ~WorkerState();

  // Joins, and keeps the lease from then on.
  absl::Status Join();
  // Joins again; WORKER_HELD is not waited out.
  absl::Status Rejoin();
  // Ends all waiting, and the membership.
  absl::Status Leave();
  // Ends the thread and all waiting.
  void Stop();

  absl::StatusOr<BegunStep> Begin();
  // A vote is under way: the next Begin() waits for its answer.
  void Voted(std::shared_ptr<PendingVote> vote);
  // Blocks until `vote` is answered, for a caller who acts on it.
  absl::StatusOr<Decision> Await(const std::shared_ptr<PendingVote>& vote);
  // The last vote, if its answer has not been given to a caller; or null.
  std::shared_ptr<PendingVote> UnansweredVote() const;

  // The parameters contain an applied step, if they contained what it builds
  // on.
  void Applied(const Decision& decision);
  // Presents what other parameters came with.
  absl::Status Present(const WorkerCheckpoint& loaded);
  Base base() const;
  void set_base(const Base& base);
  std::optional<std::int64_t> iteration() const;
  void set_iteration(std::int64_t iteration);
  std::string resume_token() const;

  absl::StatusOr<WorkerCheckpoint> Save();

  const std::shared_ptr<Connection> connection;
  const SessionRef ref;
  const LossScaler config;
  const std::shared_ptr<WorkerLink> link;

 private:
  using JoinCall = absl::StatusOr<JoinAnswer> (Connection::*)(const SessionRef&,
                                                              const JoinEvent&);

  absl::Status JoinBy(JoinCall call);
  // Of the next join. Repeated under the same id, a join whose answer was lost
  // is one join; unless `fresh`, it is that of the last one that was.
  JoinEvent NextJoin(bool fresh);

  // The parameters are those of a checkpoint.
  void Load(const Checkpoint& loaded) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for an answer, and goes on from it.
  absl::StatusOr<Decision> Hear(const std::shared_ptr<PendingVote>& vote);
  // What the decision says of the worker's next step.
  void GoOnAfter(const PendingVote& vote, const Decision& decision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where the worker begins its next step while the session stands there;
  // unset: the scaler is to be fetched first.
  std::optional<BegunStep> BeginAt(const Current& session) const;
  // Asks the server for the scaler, and keeps it if it is as of the worker's
  // own next step. The session's step.
  absl::StatusOr<std::int64_t> FetchScaler();
  // Whether the scaler is known as of the worker's next step.
  bool KnowsScaler() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Clock> clock_;
  std::thread keeper_;

  mutable Mutex mutex_;
  JoinEvent join_ ABSL_GUARDED_BY(mutex_);
  Base base_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::int64_t> iteration_ ABSL_GUARDED_BY(mutex_);
  // As of before step `scaler_step_`; 0: as loaded.
  std::optional<LossScaler> scaler_ ABSL_GUARDED_BY(mutex_);
  std::int64_t scaler_step_ ABSL_GUARDED_BY(mutex_) = 0;
  // The step after the last one that was told, or the first one. If the group
  // has decided it already (an early OVERFLOW), the worker begins it all the
  // same and hears that: every worker goes through every step, with the same
  // batches. Unset: wherever the session stands.
  std::optional<Current> next_ ABSL_GUARDED_BY(mutex_);
  // The last step whose decision was told.
  std::int64_t told_step_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<PendingVote> last_vote_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_WORKER_STATE_H_
