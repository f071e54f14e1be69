// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/step_end.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler {

std::string ExplainScale(const ScalerUpdate& update) {
  std::string text;
  if (update.hysteresis_before != update.hysteresis_after) {
    text = absl::StrCat("hysteresis ", update.hysteresis_before, " -> ",
                        update.hysteresis_after, ", ");
  }
  if (update.scale_after == update.scale_before) {
    absl::StrAppend(&text, "scale stays ", NumberText(update.scale_after));
  } else {
    absl::StrAppend(&text, "scale ", NumberText(update.scale_before), " -> ",
                    NumberText(update.scale_after));
  }
  if (update.saturated) absl::StrAppend(&text, " (saturated)");
  if (update.floored) absl::StrAppend(&text, " (at the floor)");
  return text;
}

Decision OpenDecision(const SessionState& state, absl::Time now) {
  Decision decision;
  decision.step = state.step;
  decision.scale_before = decision.scale_after = state.scaler.scale();
  decision.base_before = decision.base_after = state.base;
  decision.base_before_session_uid = decision.base_after_session_uid =
      state.base_uid;
  decision.decide_time = now;
  return decision;
}

Decision MoveBeyond(SessionState* state, Decision decision) {
  if (decision.outcome == Outcome::kApply) {
    ++state->applied;
    state->consecutive_skips = 0;
  } else if (decision.outcome != Outcome::kAborted) {
    ++state->skipped;
    ++state->consecutive_skips;
  }
  ++state->step;
  state->base = decision.base_after;
  state->base_uid = decision.base_after_session_uid;
  decision.attempted = state->attempted();
  decision.applied = state->applied;
  decision.skipped = state->skipped;
  return decision;
}

absl::Status CheckScale(const SessionState& state, const Vote& vote) {
  const double scale = state.scaler.scale();
  if (!vote.scale_used || *vote.scale_used == scale) return absl::OkStatus();
  return MakeError(Reason::kScaleMismatch,
                   absl::StrCat("the vote's gradients were made with scale ",
                                NumberText(*vote.scale_used), " but step ",
                                state.step, " has scale ", NumberText(scale),
                                "; drop them and compute the step again"),
                   {{"scale_used", NumberText(*vote.scale_used)},
                    {"scale", NumberText(scale)},
                    {"step", absl::StrCat(state.step)}});
}

absl::Status CheckSavedScaler(const LossScaler& config,
                              const LossScaler& saved) {
  if (!SameConfiguration(config, saved)) {
    return MakeError(
        Reason::kConfigMismatch,
        absl::StrCat("the saved scaler ", saved.DebugString(),
                     " is configured differently from the session's ",
                     config.DebugString(),
                     "; a session's configuration never changes: create "
                     "another session for it"),
        {{"saved", saved.DebugString()},
         {"configuration", config.DebugString()}});
  }
  return absl::OkStatus();
}

absl::Status CheckRestore(const SessionState& state, const LossScaler& scaler,
                          std::optional<std::int64_t> if_epoch) {
  if (if_epoch && *if_epoch != state.epoch) {
    return MakeError(
        Reason::kEpochMismatch,
        absl::StrCat("the restore expects epoch ", *if_epoch,
                     " but the session is at epoch ", state.epoch,
                     ": it was restored, or its workers have changed, "
                     "meanwhile; look at it again"),
        {{"if_epoch", absl::StrCat(*if_epoch)},
         {"epoch", absl::StrCat(state.epoch)}});
  }
  return CheckSavedScaler(state.config, scaler);
}

}  // namespace lossscaler
