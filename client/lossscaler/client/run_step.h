// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// RunStep: scale, backward, unscale, vote and apply in the only right order.

#ifndef LOSSSCALER_CLIENT_RUN_STEP_H_
#define LOSSSCALER_CLIENT_RUN_STEP_H_

#include <functional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/client/worker_session.h"
#include "lossscaler/client/worker_step.h"

namespace lossscaler {

// One step of `worker`:
//  - forward_backward(step): loss, step.ScaleLoss(loss), backward, and any
//    reduction, until `tensors` hold the scaled gradients of the whole window.
//    An error, or an exception, skips the step for everyone.
//  - unscales the tensors on this machine and votes.
//  - apply(permit), if the group applies the step; not otherwise. If it fails
//    the worker's parameters count as without the step.
// The result is for reading; its permit has been used. RESYNC before anything
// is computed if the worker is not in sync. All tensors are of one part: a step
// of several (PartPolicy::kEach) is a WorkerStep's.
//
// Errors of the vote are those of PendingDecision::Wait(). After
// UNAVAILABLE_BUDGET_SPENT and LEASE_STALE, FENCED and CHECKPOINT_MISMATCH the
// step may apply yet, and `tensors` hold its gradients, unscaled. To lose
// neither, leave them alone and wait on, before the next step begins:
//
//   if (ReasonOf(result.status()) == Reason::kFenced) worker.Rejoin();
//   auto late = worker.UnansweredVote()->Wait();
//   if (auto permit = late->TakePermit()) { apply(*permit); permit->Done(); }
absl::StatusOr<StepResult> RunStep(
    WorkerSession& worker,
    const std::function<absl::Status(WorkerStep&)>& forward_backward,
    std::span<const GradientTensor> tensors,
    const std::function<absl::Status(const ApplyPermit&)>& apply);

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_RUN_STEP_H_
