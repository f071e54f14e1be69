// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerStep: one step of a worker in a group session, from its scale to the
// right to apply it.
//
//   auto step = worker.BeginStep();            // waits for the group
//   ... backward of step->ScaleLoss(loss) ...
//   auto found = step->UnscaleLocally(tensors);
//   auto result = step->Update();              // waits for the decision
//   if (!result.ok()) ...                      // neither apply nor skip
//   if (auto permit = result->TakePermit()) {  // only if the step applies
//     optimizer.Step(*permit);
//     permit->Done();                          // the parameters contain it
//   }
//
// There is no flag to overlook: the worker's base moves only with Done(), an
// ApplyPermit exists only for a step that applies, and once. A trainer that
// applies without one, or takes one and does not say Done(), is told RESYNC by
// its next vote, rather than training on other parameters than its peers.

#ifndef LOSSSCALER_CLIENT_WORKER_STEP_H_
#define LOSSSCALER_CLIENT_WORKER_STEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/client/session.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler {

namespace internal {
class WorkerState;
struct PendingVote;
}  // namespace internal

// The right to apply one step, and the duty to say so afterwards. Move-only.
//
// Thread safety: one thread at a time.
class ApplyPermit {
 public:
  ApplyPermit(ApplyPermit&&) noexcept = default;
  ApplyPermit& operator=(ApplyPermit&&) noexcept = default;

  const Decision& decision() const { return *decision_; }
  // Whether a part of the gradients applies. If the votes named no parts the
  // whole step does; if they did, a part that nobody named does not: it is
  // misspelt, or nobody has checked it. "" is the whole step.
  bool Applies(std::string_view part) const;

  // The parameters contain the step now. Moves the worker's base, unless other
  // parameters were loaded since (WorkerSession::set_base()). Further calls
  // change nothing.
  void Done();

 private:
  friend class StepResult;
  ApplyPermit(std::shared_ptr<internal::WorkerState> state,
              std::shared_ptr<const Decision> decision);

  std::shared_ptr<internal::WorkerState> state_;
  std::shared_ptr<const Decision> decision_;
};

// What the group has decided. Its copies, and those of the same step's other
// answers, have one permit between them.
//
// Thread safety: any thread, at any time.
class StepResult {
 public:
  // Norm and clip coefficient over all workers: decision().norm() and
  // decision().clip_coefficient().
  const Decision& decision() const { return *decision_; }

  // The permit, if the step applies and nobody has taken it. To be used at
  // once: the worker's lease was looked at when the decision was handed out.
  std::optional<ApplyPermit> TakePermit();

 private:
  friend class PendingDecision;
  StepResult(std::shared_ptr<internal::WorkerState> state,
             std::shared_ptr<internal::PendingVote> vote, Decision decision);

  std::shared_ptr<internal::WorkerState> state_;
  std::shared_ptr<internal::PendingVote> vote_;
  std::shared_ptr<const Decision> decision_;
};

// A vote that is under way. Move-only; dropping it does not take the vote back.
//
// Thread safety: any thread, at any time.
class PendingDecision {
 public:
  PendingDecision(PendingDecision&&) noexcept = default;
  PendingDecision& operator=(PendingDecision&&) noexcept = default;

  // Blocks until the group has decided. Lost connections, a restarted server
  // and a paused session are waited out.
  //
  // No error is a decision. After UNAVAILABLE_BUDGET_SPENT and LEASE_STALE keep
  // the gradients and wait again; after FENCED keep them, Rejoin(), and wait
  // again. After CHECKPOINT_MISMATCH see WorkerSession::Present(), then wait
  // again. After RESYNC load parameters that contain what the error names.
  // After VOTE_CONFLICT, SCALE_MISMATCH, VERDICT_LOST, INVALID_FIELD,
  // STEP_AHEAD and STEP_FORGOTTEN drop the gradients and begin another step. If
  // such an error has left the open step without this worker's vote, the end of
  // the WorkerStep votes ABSTAIN.
  absl::StatusOr<StepResult> Wait();

  // Whether Wait() would return at once with what the server has said, or
  // because the membership has ended. Not of a budget that is spent; nor after
  // a CHECKPOINT_MISMATCH, which Wait() asks for again.
  bool Ready() const;

 private:
  friend class WorkerSession;
  friend class WorkerStep;
  PendingDecision(std::shared_ptr<internal::WorkerState> state,
                  std::shared_ptr<internal::PendingVote> vote);

  std::shared_ptr<internal::WorkerState> state_;
  std::shared_ptr<internal::PendingVote> vote_;
};

struct WorkerUnscaleOptions {
  // Which part of the gradients (an optimizer, a loss) the tensors belong to: 1
  // to 64 printable ASCII characters. In one step either all have one, or none
  // has, and there are at most 64.
  std::string part;
  // Leave out sum_of_squares and absolute_maximum; then nobody learns the
  // global norm.
  bool skip_statistics = false;
  // False for gradients that another worker holds too: they are checked, and
  // counted into the global norm by that one only.
  bool count_in_norm = true;
  // Of Unscale(), as in UnscaleCall.
  std::function<void(const UnscaleProgress&)> on_progress;
};

// One step of one worker. Move-only. Destroyed without a vote (an early
// continue, an exception) it votes SKIP, or ABSTAIN if the worker is not in
// sync or its vote was refused, without waiting, so that nobody waits for it.
//
// Thread safety: one thread at a time.
class WorkerStep {
 public:
  WorkerStep(WorkerStep&&) noexcept;
  WorkerStep& operator=(WorkerStep&&) noexcept;
  ~WorkerStep();

  std::int64_t number() const;
  double scale() const;
  // The trainer's counter of this step: WorkerSession::iteration(), unless it
  // is set.
  std::optional<std::int64_t> iteration() const;
  void set_iteration(std::int64_t iteration);

  // OK if the worker's parameters contain what the step builds on; RESYNC with
  // the base they must reach otherwise. A worker that is not in sync may only
  // Abstain(), for example until a peer has given it its parameters.
  absl::Status CheckInSync() const;

  // loss * scale in float32. No network.
  float ScaleLoss(float loss) const;

  // gradients / scale on this machine, and every element tested; the same bits
  // as the server's. Heavy trainers send only the verdict. INVALID_TENSOR,
  // NO_TENSORS and INVALID_FIELD (of the part's name) come before any gradient
  // is touched.
  absl::StatusOr<UnscaleResult> UnscaleLocally(
      std::span<const GradientTensor> tensors,
      const WorkerUnscaleOptions& options = {});
  // The same by the server, as Step::Unscale().
  absl::StatusOr<UnscaleResult> Unscale(
      std::span<const GradientTensor> tensors,
      const WorkerUnscaleOptions& options = {});
  // Takes the verdict of gradients that the caller has unscaled and checked
  // itself (with step.scale()).
  void AddVerdict(const UnscaleVerdict& verdict,
                  const WorkerUnscaleOptions& options = {});

  // Votes OVERFLOW if anything found was not finite, else FINITE. Once sent the
  // vote stays: calling it again means the same vote. NO_GRADIENTS_CHECKED if
  // nothing was; VERDICT_LOST if an Unscale() failed; INVALID_FIELD if only
  // some gradients have a part, or parts, base or iteration are nothing that a
  // vote can say. After any of these no vote has been sent.
  absl::StatusOr<PendingDecision> StartUpdate();
  // StartUpdate() and Wait().
  absl::StatusOr<StepResult> Update();

  // Votes SKIP: the step is dropped without penalty. VOTE_CONFLICT if the step
  // has voted otherwise.
  absl::StatusOr<StepResult> Skip();
  // Votes ABSTAIN: no data, or not in sync. The step is decided by the others;
  // a worker that is in sync applies what they apply, and one that is not is
  // told RESYNC if they apply it. Counts as an iteration, as every step does.
  absl::StatusOr<StepResult> Abstain();

 private:
  friend class WorkerSession;
  struct State;
  explicit WorkerStep(std::unique_ptr<State> state);
  absl::StatusOr<PendingDecision> Cast(Verdict verdict);
  std::unique_ptr<State> state_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_WORKER_STEP_H_
