// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/run_step.h"

#include <optional>

namespace lossscaler {

absl::StatusOr<StepResult> RunStep(
    WorkerSession& worker,
    const std::function<absl::Status(WorkerStep&)>& forward_backward,
    std::span<const GradientTensor> tensors,
    const std::function<absl::Status(const ApplyPermit&)>& apply) {
  absl::StatusOr<WorkerStep> step = worker.BeginStep();
  if (!step.ok()) return step.status();
  absl::Status status = step->CheckInSync();
  if (status.ok()) status = forward_backward(*step);
  if (status.ok()) status = step->UnscaleLocally(tensors).status();
  if (!status.ok()) return status;
  absl::StatusOr<StepResult> result = step->Update();
  if (!result.ok()) return result;
  if (std::optional<ApplyPermit> permit = result->TakePermit()) {
    status = apply(*permit);
    if (!status.ok()) return status;
    permit->Done();
  }
  return result;
}

}  // namespace lossscaler
