// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerSession: one worker of a group session.
//
//   lossscaler::Client client(options);
//   auto info = client.OpenGroup("team/project/run", *scaler,
//                                {.min_workers = 4, .max_workers = 4});
//   auto worker = client.JoinGroup("team/project/run", {.worker = "rank-0"});
//   while (training) {
//     auto result = RunStep(*worker, forward_backward, tensors, apply);
//     if (!result.ok()) ...   // neither apply nor skip: see worker_step.h
//   }
//   worker->Leave();
//
// While it lives, a thread of its own keeps the worker's lease: from the moment
// that it stops for 80 % of the lease (a frozen process, a lost network), every
// APPLY is withheld until the server has acknowledged the worker again.
//
// Save and load: Checkpoint() beside the parameters, and WorkerOptions.
// checkpoint with those bytes after loading them. When the whole job starts
// again, every worker gets an `attempt` higher than before; the group then
// restores the session by itself, once, as soon as all have joined with the
// same checkpoint.

#ifndef LOSSSCALER_CLIENT_WORKER_SESSION_H_
#define LOSSSCALER_CLIENT_WORKER_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/worker_checkpoint.h"
#include "lossscaler/client/worker_step.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

struct WorkerOptions {
  // 1 to 64 printable ASCII characters, unique in the session: a rank.
  std::string worker;
  // Counts the starts of the whole job: the same in all its workers, rising
  // over the session's life. Unset: the checkpoint's, else 0. That is right for
  // a worker that comes back alone. A job that starts again without a higher
  // one shares a group with what is left of its former start: it waits for dead
  // workers until their leases have run out, and is not restored to its
  // checkpoint while they count.
  std::optional<std::int64_t> attempt;
  // What Checkpoint() returned when the parameters that the worker has loaded
  // were saved. Empty: it has the initial parameters, or will get others.
  std::string checkpoint;
  // Without a checkpoint (INVALID_FIELD otherwise): say that the whole job
  // starts from the beginning (initial scaler, base 0), wherever the session
  // stands.
  bool from_the_start = false;
  // Of this worker's former process (WorkerSession::resume_token()), so that
  // its lease need not run out first.
  std::string resume_token;

  // As in ClientOptions, for everything that waits for a stream or a vote;
  // absl::InfiniteDuration() waits for ever. on_wait is told as well what a
  // group that takes no votes waits for. It may call the session, and throw:
  // the waiting call then ends with the exception, and may be made again.
  absl::Duration unavailable_budget = absl::Minutes(10);
  std::function<void(const WaitReport&)> on_wait;
  absl::Duration wait_report_interval = absl::Seconds(5);
  // Null: the machine's (CLOCK_BOOTTIME).
  std::shared_ptr<Clock> clock;
};

// Move-only. Destroyed without Leave() it stops its lease's renewal: the others
// wait for it until the lease has run out.
//
// Thread safety: any thread, at any time, and one step at a time. Leave() and
// Rejoin() may be called while others wait; but no two of Leave(), Rejoin(),
// move and destruction at once.
class WorkerSession {
 public:
  // Joins. WORKER_HELD is waited out within the connection's
  // unavailable_budget. STALE_ATTEMPT: this process belongs to a job that has
  // been replaced. STEP_AHEAD: the session has lost decisions that the
  // checkpoint contains; load an older one, or restore the session.
  // CONFIG_MISMATCH: the checkpoint is of a scaler with another configuration.
  // INVALID_FIELD or INVALID_SCALER: the options, or a checkpoint that cannot
  // be read. SESSION_NOT_FOUND, WRONG_KIND, TOO_MANY_WORKERS as they say.
  static absl::StatusOr<WorkerSession> Join(
      std::shared_ptr<Connection> connection, std::string_view session,
      const WorkerOptions& options);

  WorkerSession(WorkerSession&&) noexcept;
  WorkerSession& operator=(WorkerSession&&) noexcept;
  ~WorkerSession();

  const std::string& name() const;
  const std::string& uid() const;
  const LossScaler& config() const;
  // This worker's name and registration.
  WorkerRef worker() const;
  // Kept by whoever restarts the worker.
  std::string resume_token() const;
  // Where the worker stood when it last heard of it. The epoch rises when the
  // roster changes: the moment to rebuild process groups.
  Membership membership() const;

  // The next step. Blocks until the worker is active and the session takes
  // votes, however long it is paused for want of workers or until an operator
  // restores it; and until its last vote is answered. on_wait says what it
  // waits for; Leave() ends it. The session must outlive the step's calls, not
  // the step.
  //
  // FENCED: Rejoin(). CHECKPOINT_MISMATCH: load what the others have and
  // Present() it, or leave. UNAVAILABLE_BUDGET_SPENT, LEASE_STALE: call again.
  // SESSION_NOT_FOUND, SESSION_REPLACED: the session is gone; end the run.
  absl::StatusOr<WorkerStep> BeginStep();

  // The last vote, if nobody has been given its answer: of a step whose
  // PendingDecision is gone, of RunStep() for example. Who has kept the
  // gradients waits for it, takes the permit and applies, before the next
  // BeginStep().
  std::optional<PendingDecision> UnansweredVote() const;

  // The last applied or restored step that the worker's parameters contain.
  // Moves with ApplyPermit::Done(). A worker that loads other parameters (of a
  // peer, after RESYNC or RESTORED) says which.
  Base base() const;
  void set_base(const Base& base);

  // The trainer's counter of its next step: one more with each decision, or
  // what an ITERATION_MISMATCH says. Unset unless a checkpoint or the trainer
  // has named one.
  std::optional<std::int64_t> iteration() const;
  void set_iteration(std::int64_t iteration);

  // What to save beside the parameters, as of the last answered step. The same
  // bytes in every worker that has heard the same decisions. No network, unless
  // a step was missed. UNAVAILABLE: the session is some steps further and does
  // not know that scaler any more; go through those steps, and save then.
  absl::StatusOr<std::string> Checkpoint();

  // In place of the checkpoint that the worker has presented, after loading
  // other parameters; base and iteration become what it says. Without effect on
  // the group while votes are taken. After UNAVAILABLE_BUDGET_SPENT nothing has
  // changed here, and nothing is presented later; the server may have heard of
  // it all the same: call it again. ABORTED: another call came meanwhile.
  absl::Status Present(std::string_view checkpoint);

  // Joins again after FENCED or LEASE_STALE, as a new incarnation with the same
  // name, base and attempt. A vote without an answer is cast again: keep the
  // gradients and wait for it. If the step was applied without this worker,
  // that is RESYNC. STALE_ATTEMPT or WORKER_HELD: another process has this
  // one's place; end this one.
  absl::Status Rejoin();

  // Ends the membership: the others go on without it. Every waiting call ends
  // with CANCELLED, at once; and then the server is told, for as long as a
  // lease lasts at most: after that it takes the worker for lost by itself.
  absl::Status Leave();

 private:
  explicit WorkerSession(std::shared_ptr<internal::WorkerState> state);
  std::shared_ptr<internal::WorkerState> state_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_WORKER_SESSION_H_
