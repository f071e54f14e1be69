// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/solo.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {
namespace {

std::string Text(std::string_view text) { return std::string(text); }

// Moves the session past its decision.
Decided Close(SessionState state, Decision decision) {
  ++state.revision;
  decision.epoch_after = state.epoch;
  decision = MoveBeyond(&state, std::move(decision));
  return {std::move(state), std::move(decision)};
}

// Whether the voter says that its parameters are another session's.
bool StandsOnOtherSession(const SessionState& state, const Vote& vote) {
  return !vote.base_session_uid.empty() && vote.base_session_uid != state.uid;
}

absl::Status CheckBase(const SessionState& state, const Vote& vote) {
  if (vote.resolved == Verdict::kAbstain) return absl::OkStatus();
  const bool other_session = StandsOnOtherSession(state, vote);
  if (!other_session && (!vote.base || *vote.base == state.base)) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::kResync,
      absl::StrCat("the voter's parameters contain ",
                   other_session ? absl::StrCat("steps of another session, ",
                                                Quoted(vote.base_session_uid))
                                 : absl::StrCat("base ", *vote.base),
                   " but step ", state.step, " builds on base ", state.base,
                   "; load parameters that contain it, or restore the session "
                   "to what was loaded"),
      {{"base", absl::StrCat(state.base)},
       {"base_of_vote", absl::StrCat(vote.base.value_or(0))},
       {"session_uid", state.uid},
       {"session_uid_of_vote", Quoted(vote.base_session_uid)},
       {"step", absl::StrCat(state.step)}});
}

}  // namespace

SessionState NewSession(std::string_view name, std::string_view uid,
                        const LossScaler& config,
                        std::string_view create_request_id, absl::Time now) {
  SessionState state;
  state.name = Text(name);
  state.uid = Text(uid);
  state.config = config;
  state.scaler = config;
  state.revision = 1;
  state.create_request_id = Text(create_request_id);
  state.create_time = now;
  return state;
}

absl::Status CheckStep(const SessionState& state, std::int64_t step) {
  if (step < 1) {
    return MakeError(Reason::kInvalidField,
                     absl::StrCat("step is ", step,
                                  "; the first step is 1, leave the field out "
                                  "to mean the current one"),
                     {{"field", "step"}, {"value", absl::StrCat(step)}});
  }
  if (step > state.step) {
    return MakeError(Reason::kStepAhead,
                     absl::StrCat("step ", step,
                                  " has not been reached; the session's next "
                                  "decision is step ",
                                  state.step),
                     {{"step", absl::StrCat(step)},
                      {"expected_step", absl::StrCat(state.step)}});
  }
  const std::int64_t oldest =
      std::max<std::int64_t>(1, state.step - kReplayableDecisions);
  if (step < oldest) {
    return MakeError(
        Reason::kStepForgotten,
        absl::StrCat("step ", step,
                     " was decided too long ago to be asked for "
                     "again; the oldest such step is ",
                     oldest, " and the session's next decision is step ",
                     state.step),
        {{"step", absl::StrCat(step)},
         {"oldest_step", absl::StrCat(oldest)},
         {"expected_step", absl::StrCat(state.step)}});
  }
  return absl::OkStatus();
}

absl::StatusOr<Decided> Decide(const SessionState& state, const Vote& vote,
                               absl::Time now) {
  if (absl::Status status = CheckScale(state, vote); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckBase(state, vote); !status.ok()) {
    return status;
  }

  SessionState next = state;
  Decision decision = OpenDecision(state, now);
  decision.votes.push_back(vote);
  // The journal does not keep it: a decision is the same read or remembered.
  decision.votes.back().base_session_uid.clear();
  if (vote.resolved == Verdict::kSkip) {
    decision.outcome = Outcome::kSkip;
    decision.reason = DecisionReason::kVotedSkip;
    decision.explanation =
        absl::StrCat("skipped on request, without penalty; scale stays ",
                     NumberText(decision.scale_after));
  } else if (vote.resolved == Verdict::kAbstain) {
    decision.outcome = Outcome::kSkip;
    decision.reason = DecisionReason::kAllAbstained;
    decision.explanation = absl::StrCat(
        "skipped because nobody had data, without penalty; scale "
        "stays ",
        NumberText(decision.scale_after));
  } else {
    const bool overflow = vote.resolved == Verdict::kOverflow;
    const ScalerUpdate update = next.scaler.Update(overflow);
    decision.outcome = overflow ? Outcome::kSkipOverflow : Outcome::kApply;
    decision.reason =
        overflow ? DecisionReason::kOverflow : DecisionReason::kFinite;
    decision.scale_after = update.scale_after;
    decision.saturated = update.saturated;
    decision.floored = update.floored;
    decision.stalled = update.stalled;
    if (!overflow) decision.base_after = state.step;
    decision.explanation =
        absl::StrCat(overflow ? "skipped because of an overflow; "
                              : "applied, every gradient is finite; ",
                     ExplainScale(update));
  }
  return Close(std::move(next), std::move(decision));
}

absl::Status CheckReplay(const SessionState& state, const Decision& decision,
                         const Vote& vote) {
  // A step that was ended from outside is the same answer for everyone.
  if (decision.votes.empty()) return absl::OkStatus();
  // A decision does not keep whose base a vote named, so that SameVote() could
  // take another session's for this one's; only ABSTAIN may name either.
  const bool comparable =
      vote.verdict == Verdict::kAbstain || !StandsOnOtherSession(state, vote);
  for (const Vote& recorded : decision.votes) {
    if (comparable && SameVote(recorded, vote)) return absl::OkStatus();
  }
  return MakeError(
      Reason::kVoteConflict,
      absl::StrCat("step ", decision.step, " was decided as ",
                   Text(OutcomeName(decision.outcome)), " by a vote of ",
                   Text(VerdictName(decision.votes.front().verdict)),
                   ", not by this vote of ", Text(VerdictName(vote.verdict)),
                   "; do not apply these gradients"),
      {{"step", absl::StrCat(decision.step)},
       {"outcome", Text(OutcomeName(decision.outcome))},
       {"recorded_verdict", Text(VerdictName(decision.votes.front().verdict))},
       {"verdict", Text(VerdictName(vote.verdict))}});
}

absl::StatusOr<Decided> Restore(const SessionState& state,
                                const LossScaler& scaler,
                                std::optional<std::int64_t> if_epoch,
                                std::string_view request_id, absl::Time now) {
  if (absl::Status status = CheckRestore(state, scaler, if_epoch);
      !status.ok()) {
    return status;
  }

  SessionState next = state;
  next.scaler = scaler;
  ++next.epoch;
  next.consecutive_skips = 0;
  Decision decision = OpenDecision(state, now);
  decision.outcome = Outcome::kAborted;
  decision.reason = DecisionReason::kRestored;
  decision.scale_after = scaler.scale();
  decision.base_after = state.step;
  decision.request_id = Text(request_id);
  decision.explanation = absl::StrCat(
      "ended by a restore; scale ", NumberText(decision.scale_before), " -> ",
      NumberText(decision.scale_after), ", epoch ", state.epoch, " -> ",
      next.epoch);
  return Close(std::move(next), std::move(decision));
}

}  // namespace lossscaler
