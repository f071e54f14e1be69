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
// Thread safety: any thread, at any time, but for Join() and Stop(). No lock is
// held during a call.
class WorkerState {
 public:
  WorkerState(std::shared_ptr<Connection> connection_in,
              const SessionInfo& info, LinkOptions options);
  ~WorkerState();

  // Joins, for the first time or again, and keeps the lease from then on.
  // `event.request_id` and `.resume_token` are filled in here.
  absl::Status Join();
  // Ends the thread and all waiting.
  void Stop();

  absl::StatusOr<BegunStep> Begin();
  // A vote is under way: the next Begin() waits for its answer.
  void Voted(std::shared_ptr<CastVote> cast);
  // Blocks until `cast` is answered.
  absl::StatusOr<Decision> Await(CastVote* cast);

  // The parameters contain an applied step.
  void Applied(const Decision& decision);
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
  // Of every join; set before the first.
  JoinEvent event;

 private:
  // What the caller is told about: the next iteration and the scaler.
  void Told(const CastVote& cast, const Decision& decision);
  // Asks the server for the scaler as of step `step`; false if the session has
  // gone on meanwhile.
  absl::StatusOr<bool> FetchScaler(std::int64_t step);
  // Whether the worker's next step is decided already, and its scaler known.
  bool Follows(const Current& current) const;
  bool KnowsScaler(const Current& current) const;

  const std::shared_ptr<Clock> clock_;
  std::thread keeper_;

  mutable Mutex mutex_;
  Base base_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::int64_t> iteration_ ABSL_GUARDED_BY(mutex_);
  // As of before step `scaler_step_`.
  std::optional<LossScaler> scaler_ ABSL_GUARDED_BY(mutex_);
  std::int64_t scaler_step_ ABSL_GUARDED_BY(mutex_) = 0;
  // The step after the last one that was told, or the first one. If the group
  // has decided it already (an early OVERFLOW), the worker begins it all the
  // same and hears that: every worker goes through every step, with the same
  // batches. Unset: wherever the session stands.
  std::optional<Current> next_ ABSL_GUARDED_BY(mutex_);
  // The last step whose decision was told.
  std::int64_t told_step_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<CastVote> under_way_ ABSL_GUARDED_BY(mutex_);
  std::string resume_token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_WORKER_STATE_H_
