// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/check_join.h"

#include "absl/strings/str_cat.h"
#include "lossscaler/core/check_vote.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {

absl::Status CheckJoin(const SessionState& state, const JoinEvent& event) {
  if (absl::Status status = ValidateId("worker", event.worker); !status.ok()) {
    return status;
  }
  if (absl::Status status = ValidateRequestId(event.request_id); !status.ok()) {
    return status;
  }
  if (event.request_id.empty()) {
    return MakeError(Reason::kRequestIdRequired,
                     "the join has no request_id, so that a repeated call "
                     "would be another worker; set one");
  }
  if (event.attempt < 0) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("attempt is ", event.attempt,
                     "; it is 0, or counts the starts of the job "
                     "from 1 on"),
        {{"field", "attempt"}, {"value", absl::StrCat(event.attempt)}});
  }
  if (!event.checkpoint) return absl::OkStatus();
  return CheckCheckpoint(state, *event.checkpoint);
}

absl::Status CheckCheckpoint(const SessionState& state,
                             const Checkpoint& checkpoint) {
  const Base& base = checkpoint.base;
  if (base.step < 0) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("checkpoint.base.step is ", base.step,
                     "; it is 0 for initial parameters, or a step"),
        {{"field", "checkpoint.base.step"},
         {"value", absl::StrCat(base.step)}});
  }
  if (base.step > 0) {
    if (absl::Status status =
            ValidateId("checkpoint.base.session_uid", base.session_uid);
        !status.ok()) {
      return status;
    }
  }
  if (base.session_uid == state.uid && base.step >= state.step) {
    return MakeError(
        Reason::kStepAhead,
        absl::StrCat("the checkpoint contains step ", base.step,
                     " but the session's next decision is step ", state.step,
                     ": it has lost decisions; create another session"),
        {{"step", absl::StrCat(base.step)},
         {"expected_step", absl::StrCat(state.step)}});
  }
  if (absl::Status status = CheckIteration(checkpoint.iteration);
      !status.ok()) {
    return status;
  }
  return CheckSavedScaler(state.config, checkpoint.scaler);
}

}  // namespace lossscaler
