// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/worker_step.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/local_unscale.h"
#include "lossscaler/client/internal/unscale_plan.h"
#include "lossscaler/client/internal/worker_state.h"
#include "lossscaler/client/internal/worker_step_state.h"
#include "lossscaler/core/check_vote.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler {

using internal::PendingVote;
using internal::WorkerState;

namespace {

// Before any gradient is touched.
absl::Status CheckPart(const std::string& part) {
  return part.empty() ? absl::OkStatus() : ValidateId("part", part);
}

}  // namespace

ApplyPermit::ApplyPermit(std::shared_ptr<WorkerState> state,
                         std::shared_ptr<const Decision> decision)
    : state_(std::move(state)), decision_(std::move(decision)) {}

bool ApplyPermit::Applies(std::string_view part) const {
  if (part.empty() || decision_->parts.empty()) return true;
  return std::any_of(decision_->parts.begin(), decision_->parts.end(),
                     [&](const PartOutcome& outcome) {
                       return outcome.apply && outcome.name == part;
                     });
}

void ApplyPermit::Done() {
  if (state_) state_->Applied(*decision_);
  state_.reset();
}

StepResult::StepResult(std::shared_ptr<WorkerState> state,
                       std::shared_ptr<PendingVote> vote, Decision decision)
    : state_(std::move(state)),
      vote_(std::move(vote)),
      decision_(std::make_shared<const Decision>(std::move(decision))) {}

std::optional<ApplyPermit> StepResult::TakePermit() {
  if (!decision_->apply() || vote_->permitted.exchange(true)) {
    return std::nullopt;
  }
  return ApplyPermit(state_, decision_);
}

PendingDecision::PendingDecision(std::shared_ptr<WorkerState> state,
                                 std::shared_ptr<PendingVote> vote)
    : state_(std::move(state)), vote_(std::move(vote)) {}

absl::StatusOr<StepResult> PendingDecision::Wait() {
  absl::StatusOr<Decision> decision = state_->Await(vote_);
  if (!decision.ok()) return decision.status();
  return StepResult(state_, vote_, *std::move(decision));
}

bool PendingDecision::Ready() const { return state_->link->Ready(*vote_); }

UnscaleResult WorkerStep::State::Found(std::vector<UnscaleVerdict> verdicts,
                                       const WorkerUnscaleOptions& options) {
  UnscaleResult result;
  result.scale = begun.current.scale;
  for (const UnscaleVerdict& verdict : verdicts) result.total.Merge(verdict);
  // An index means nothing without its tensor.
  result.total.first_bad_index.reset();
  result.tensors = std::move(verdicts);

  FoundPart& part = parts[options.part];
  part.overflow = part.overflow || result.total.overflow();
  if (!options.count_in_norm) return result;
  const double share = result.total.sum_of_squares;
  if (options.skip_statistics || !std::isfinite(share)) {
    part.sum_of_squares.reset();
  } else if (part.sum_of_squares) {
    *part.sum_of_squares += share;
  }
  return result;
}

Vote WorkerStep::State::MakeVote(Verdict verdict) const {
  Vote vote;
  vote.verdict = verdict;
  if (verdict != Verdict::kAbstain || in_sync()) {
    vote.base = begun.base.step;
    vote.base_session_uid =
        begun.base.step == 0 ? state->ref.uid : begun.base.session_uid;
  }
  if (verdict == Verdict::kAbstain) return vote;
  vote.scale_used = begun.current.scale;
  vote.iteration = begun.iteration;
  if (verdict == Verdict::kSkip) return vote;
  vote.sum_of_squares = 0.0;
  for (const auto& [name, part] : parts) {
    if (!part.sum_of_squares || !vote.sum_of_squares) {
      vote.sum_of_squares.reset();
    } else {
      *vote.sum_of_squares += *part.sum_of_squares;
    }
    if (name.empty()) continue;
    vote.parts.push_back(
        {.name = name,
         .verdict = part.overflow ? Verdict::kOverflow : Verdict::kFinite,
         .sum_of_squares = part.sum_of_squares});
  }
  return vote;
}

absl::StatusOr<Verdict> WorkerStep::State::Judge() const {
  const ErrorMetadata step = {{"step", absl::StrCat(begun.current.step)}};
  if (lost) {
    return MakeError(Reason::kVerdictLost,
                     absl::StrCat("an Unscale() of step ", begun.current.step,
                                  " failed, so nobody knows what its gradients "
                                  "hold; drop them and call Skip()"),
                     step);
  }
  if (parts.empty()) {
    return MakeError(
        Reason::kNoGradientsChecked,
        absl::StrCat("step ", begun.current.step,
                     " has checked no gradients; call UnscaleLocally(), "
                     "Unscale() or AddVerdict() first, or Skip() or Abstain() "
                     "if there are none"),
        step);
  }
  if (parts.size() > 1 && parts.begin()->first.empty()) {
    return MakeError(Reason::kInvalidField,
                     "some gradients of the step have a part and some have "
                     "none; name a part for all or for none",
                     {{"field", "part"}});
  }
  const bool overflow =
      std::any_of(parts.begin(), parts.end(),
                  [](const auto& part) { return part.second.overflow; });
  return overflow ? Verdict::kOverflow : Verdict::kFinite;
}

bool WorkerStep::State::in_sync() const {
  return begun.base == Base{.session_uid = begun.current.base_session_uid,
                            .step = begun.current.base};
}

absl::Status WorkerStep::State::Check(const Vote& vote) const {
  absl::Status status = CheckGroupVote(begun.current.step, vote);
  if (vote.base.value_or(0) != 0) {
    status.Update(ValidateId("base.session_uid", vote.base_session_uid));
  }
  return status;
}

void WorkerStep::State::Send(const Vote& vote) {
  sent = state->link->Cast(
      begun.current.step, vote,
      CheckIteration(begun.iteration).ok() ? begun.iteration : std::nullopt);
  state->Voted(sent);
}

void WorkerStep::State::Abandon() {
  if (sent) {
    // Whatever was wrong with the vote, there is nothing in this one.
    if (state->link->LeftNoVote(*sent)) Send({.verdict = Verdict::kAbstain});
    return;
  }
  const Vote skip = MakeVote(Verdict::kSkip);
  Send(in_sync() && Check(skip).ok() ? skip : MakeVote(Verdict::kAbstain));
}

WorkerStep::WorkerStep(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

WorkerStep::WorkerStep(WorkerStep&&) noexcept = default;

WorkerStep& WorkerStep::operator=(WorkerStep&& other) noexcept {
  if (this == &other) return *this;
  if (state_) state_->Abandon();
  state_ = std::move(other.state_);
  return *this;
}

WorkerStep::~WorkerStep() {
  if (state_) state_->Abandon();
}

std::int64_t WorkerStep::number() const { return state_->begun.current.step; }

double WorkerStep::scale() const { return state_->begun.current.scale; }

std::optional<std::int64_t> WorkerStep::iteration() const {
  return state_->begun.iteration;
}

void WorkerStep::set_iteration(std::int64_t iteration) {
  state_->begun.iteration = iteration;
}

absl::Status WorkerStep::CheckInSync() const {
  if (state_->in_sync()) return absl::OkStatus();
  const internal::BegunStep& begun = state_->begun;
  return MakeError(
      Reason::kResync,
      absl::StrCat("the worker's parameters contain base ", begun.base.step,
                   " of session ", Quoted(begun.base.session_uid), " but step ",
                   begun.current.step, " builds on base ", begun.current.base,
                   " of session ", Quoted(begun.current.base_session_uid),
                   "; load parameters that contain it and call set_base(), or "
                   "leave"),
      {{"step", absl::StrCat(begun.current.step)},
       {"base", absl::StrCat(begun.current.base)},
       {"session_uid", begun.current.base_session_uid},
       {"base_of_vote", absl::StrCat(begun.base.step)},
       {"session_uid_of_vote", Quoted(begun.base.session_uid)}});
}

float WorkerStep::ScaleLoss(float loss) const {
  return loss * static_cast<float>(scale());
}

absl::StatusOr<UnscaleResult> WorkerStep::UnscaleLocally(
    std::span<const GradientTensor> tensors,
    const WorkerUnscaleOptions& options) {
  if (absl::Status status = CheckPart(options.part); !status.ok()) {
    return status;
  }
  const absl::StatusOr<internal::UnscalePlan> plan =
      internal::PlanUnscale(tensors);
  if (!plan.ok()) return plan.status();
  return state_->Found(
      internal::UnscaleInMemory(
          *plan, {.scale = scale(),
                  .arithmetic = state_->state->config.unscale_arithmetic(),
                  .statistics = !options.skip_statistics}),
      options);
}

absl::StatusOr<UnscaleResult> WorkerStep::Unscale(
    std::span<const GradientTensor> tensors,
    const WorkerUnscaleOptions& options) {
  if (absl::Status status = CheckPart(options.part); !status.ok()) {
    return status;
  }
  absl::StatusOr<UnscaleAnswer> answer = state_->state->connection->Unscale(
      {.session = state_->state->ref,
       .step = number(),
       .tensors = tensors,
       .skip_statistics = options.skip_statistics,
       .worker = state_->state->link->worker(),
       .on_progress = options.on_progress});
  if (!answer.ok()) {
    // These come before any gradient is touched.
    const std::optional<Reason> reason = ReasonOf(answer.status());
    if (reason != Reason::kInvalidTensor && reason != Reason::kNoTensors &&
        reason != Reason::kTooManyTensors) {
      state_->lost = true;
    }
    return answer.status();
  }
  if (answer->scale != scale()) {
    state_->lost = true;
    return MakeError(Reason::kScaleMismatch,
                     absl::StrCat("step ", number(), " was begun with scale ",
                                  NumberText(scale()), ", but the server used ",
                                  NumberText(answer->scale),
                                  "; drop the gradients and call Skip()"),
                     {{"step", absl::StrCat(number())},
                      {"scale_used", NumberText(scale())},
                      {"scale", NumberText(answer->scale)}});
  }
  return state_->Found(std::move(answer->tensors), options);
}

void WorkerStep::AddVerdict(const UnscaleVerdict& verdict,
                            const WorkerUnscaleOptions& options) {
  state_->Found({verdict}, options);
}

absl::StatusOr<PendingDecision> WorkerStep::Cast(Verdict verdict) {
  const std::shared_ptr<PendingVote>& sent = state_->sent;
  if (sent && sent->vote.verdict != verdict) {
    const std::string voted(VerdictName(sent->vote.verdict));
    const std::string asked(VerdictName(verdict));
    return MakeError(
        Reason::kVoteConflict,
        absl::StrCat("step ", number(), " has voted ", voted,
                     " already, and a vote is not changed to ", asked,
                     "; repeat the call that voted"),
        {{"step", absl::StrCat(number())}, {"voted", voted}, {"asked", asked}});
  }
  if (!sent) {
    const Vote vote = state_->MakeVote(verdict);
    if (absl::Status status = state_->Check(vote); !status.ok()) return status;
    state_->Send(vote);
  }
  return PendingDecision(state_->state, sent);
}

absl::StatusOr<PendingDecision> WorkerStep::StartUpdate() {
  // Once sent the vote stays, whatever is found later.
  const std::shared_ptr<PendingVote>& sent = state_->sent;
  if (sent && (sent->vote.verdict == Verdict::kFinite ||
               sent->vote.verdict == Verdict::kOverflow)) {
    return PendingDecision(state_->state, sent);
  }
  const absl::StatusOr<Verdict> verdict = state_->Judge();
  if (!verdict.ok()) return verdict.status();
  return Cast(*verdict);
}

absl::StatusOr<StepResult> WorkerStep::Update() {
  absl::StatusOr<PendingDecision> pending = StartUpdate();
  if (!pending.ok()) return pending.status();
  return pending->Wait();
}

absl::StatusOr<StepResult> WorkerStep::Skip() {
  absl::StatusOr<PendingDecision> pending = Cast(Verdict::kSkip);
  if (!pending.ok()) return pending.status();
  return pending->Wait();
}

absl::StatusOr<StepResult> WorkerStep::Abstain() {
  absl::StatusOr<PendingDecision> pending = Cast(Verdict::kAbstain);
  if (!pending.ok()) return pending.status();
  return pending->Wait();
}

}  // namespace lossscaler
