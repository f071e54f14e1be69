// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/local_unscale.h"
#include "lossscaler/client/internal/step_state.h"
#include "lossscaler/client/internal/unscale_plan.h"
#include "lossscaler/client/session.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler {
namespace {

// How long a destructor may hold its thread up.
constexpr absl::Duration kAbandonTimeout = absl::Seconds(2);

// Errors of a call that has touched no gradient.
bool IsBeforeTheFirst(const absl::Status& error) {
  const std::optional<Reason> reason = ReasonOf(error);
  return reason == Reason::kInvalidTensor || reason == Reason::kNoTensors ||
         reason == Reason::kTooManyTensors ||
         reason == Reason::kInvalidCredentials;
}

std::string NameOf(Verdict verdict) {
  return std::string(VerdictName(verdict));
}

}  // namespace

double UnscaleResult::norm() const { return std::sqrt(total.sum_of_squares); }

UnscaleResult Step::State::Found(std::vector<UnscaleVerdict> verdicts,
                                 double scale, bool statistics) {
  UnscaleResult result;
  result.scale = scale;
  for (const UnscaleVerdict& verdict : verdicts) result.total.Merge(verdict);
  // An index means nothing without its tensor.
  result.total.first_bad_index.reset();
  result.tensors = std::move(verdicts);
  total.Merge(result.total);
  checked = true;
  has_statistics = has_statistics && statistics;
  return result;
}

absl::Status Step::State::OtherScale(std::string_view what, double scale) {
  lost = true;
  return MakeError(
      Reason::kScaleMismatch,
      absl::StrCat("step ", begun.step, " was begun with scale ",
                   NumberText(begun.scale), ", but the server used ",
                   NumberText(scale), " for its ", std::string(what),
                   "; drop the gradients and begin another step"),
      {{"step", absl::StrCat(begun.step)},
       {"scale_used", NumberText(begun.scale)},
       {"scale", NumberText(scale)}});
}

Vote Step::State::MakeVote(Verdict verdict) const {
  Vote made;
  made.verdict = verdict;
  made.iteration = iteration;
  if (verdict == Verdict::kAbstain) return made;
  made.scale_used = begun.scale;
  made.base = begun.base;
  made.base_session_uid = session->ref.uid;
  if (checked && has_statistics && std::isfinite(total.sum_of_squares)) {
    made.sum_of_squares = total.sum_of_squares;
  }
  return made;
}

absl::StatusOr<Decision> Step::State::Cast(Verdict verdict) {
  if (vote && vote->verdict != verdict) {
    return MakeError(
        Reason::kVoteConflict,
        absl::StrCat("step ", begun.step, " has voted ", NameOf(vote->verdict),
                     " already, and a vote is not changed to ", NameOf(verdict),
                     "; repeat the call that voted"),
        {{"step", absl::StrCat(begun.step)},
         {"voted", NameOf(vote->verdict)},
         {"asked", NameOf(verdict)}});
  }
  if (decision) return *decision;
  if (!vote) {
    const absl::Status ready = Ready();
    if (!ready.ok()) return ready;
    vote = MakeVote(verdict);
  }
  absl::StatusOr<Decision> decided =
      session->SendVote(begun.step, *vote, std::nullopt);
  if (!decided.ok()) return decided;
  session->Told(*decided);
  decision = *decided;
  return decided;
}

absl::Status Step::State::Ready() {
  if (vote || !session->HasUnanswered(begun.step)) return absl::OkStatus();
  absl::Status status = session->Settle();
  if (!status.ok()) return status;
  if (session->current().step <= begun.step) return absl::OkStatus();
  return MakeError(
      Reason::kVoteConflict,
      absl::StrCat("step ", begun.step,
                   " was decided by the vote of an earlier Step, whose answer "
                   "was lost; drop the gradients and begin another step"),
      {{"step", absl::StrCat(begun.step)}});
}

void Step::State::Abandon() {
  // A number that is decided, or voted on already, waits for nobody.
  if (vote || session->HasUnanswered(begun.step) ||
      session->current().step > begun.step) {
    return;
  }
  vote = MakeVote(Verdict::kSkip);
  // Nobody is left to tell; BeginStep() settles a vote without an answer.
  session->SendVote(begun.step, *vote, kAbandonTimeout).status().IgnoreError();
}

Step::Step(std::unique_ptr<State> state) : state_(std::move(state)) {}

Step::Step(Step&&) noexcept = default;

Step& Step::operator=(Step&& other) noexcept {
  if (this == &other) return *this;
  if (state_) state_->Abandon();
  state_ = std::move(other.state_);
  return *this;
}

Step::~Step() {
  if (state_) state_->Abandon();
}

std::int64_t Step::number() const { return state_->begun.step; }

double Step::scale() const { return state_->begun.scale; }

std::int64_t Step::base() const { return state_->begun.base; }

void Step::set_iteration(std::int64_t iteration) {
  state_->iteration = iteration;
}

absl::StatusOr<float> Step::ScaleLoss(float loss) {
  absl::StatusOr<ScaledLosses> scaled = ScaleLoss(std::span(&loss, 1));
  if (!scaled.ok()) return scaled.status();
  return scaled->losses.front();
}

absl::StatusOr<ScaledLosses> Step::ScaleLoss(std::span<const float> losses,
                                             ElementType loss_type) {
  absl::Status ready = state_->Ready();
  if (!ready.ok()) return ready;
  absl::StatusOr<ScaleLossAnswer> answer =
      state_->session->connection->ScaleLoss({.session = state_->session->ref,
                                              .step = state_->begun.step,
                                              .losses = losses,
                                              .loss_type = loss_type});
  if (!answer.ok()) {
    state_->session->Learn(answer.status());
    return answer.status();
  }
  if (answer->scale != state_->begun.scale) {
    // Gradients of these losses would be divided by another scale.
    return state_->OtherScale("losses", answer->scale);
  }
  if (answer->scaled_losses.size() != losses.size()) {
    return MakeError(
        Reason::kMalformedAnswer,
        absl::StrCat(answer->scaled_losses.size(),
                     " scaled losses came back for ", losses.size()));
  }
  return ScaledLosses{.losses = std::move(answer->scaled_losses),
                      .non_finite = std::move(answer->non_finite_losses),
                      .overflowing = std::move(answer->overflowing_losses)};
}

absl::StatusOr<UnscaleResult> Step::Unscale(
    std::span<const GradientTensor> tensors, const UnscaleOptions& options) {
  absl::Status ready = state_->Ready();
  if (!ready.ok()) return ready;
  absl::StatusOr<UnscaleAnswer> answer = state_->session->connection->Unscale(
      {.session = state_->session->ref,
       .step = state_->begun.step,
       .tensors = tensors,
       .skip_statistics = options.skip_statistics,
       .on_progress = options.on_progress});
  if (!answer.ok()) {
    if (!IsBeforeTheFirst(answer.status())) state_->lost = true;
    state_->session->Learn(answer.status());
    return answer.status();
  }
  if (answer->scale != state_->begun.scale) {
    return state_->OtherScale("gradients", answer->scale);
  }
  return state_->Found(std::move(answer->tensors), answer->scale,
                       !options.skip_statistics);
}

absl::StatusOr<UnscaleResult> Step::UnscaleLocally(
    std::span<const GradientTensor> tensors, const UnscaleOptions& options) {
  const absl::StatusOr<internal::UnscalePlan> plan =
      internal::PlanUnscale(tensors);
  if (!plan.ok()) return plan.status();
  return state_->Found(
      internal::UnscaleInMemory(
          *plan, {.scale = state_->begun.scale,
                  .arithmetic = state_->session->config.unscale_arithmetic(),
                  .statistics = !options.skip_statistics}),
      state_->begun.scale, !options.skip_statistics);
}

void Step::AddVerdict(const UnscaleVerdict& verdict,
                      const UnscaleOptions& options) {
  state_->Found({verdict}, state_->begun.scale, !options.skip_statistics);
}

absl::StatusOr<Decision> Step::Update() {
  State& state = *state_;
  const ErrorMetadata step = {{"step", absl::StrCat(state.begun.step)}};
  if (!state.vote && state.lost) {
    return MakeError(
        Reason::kVerdictLost,
        absl::StrCat("a ScaleLoss or Unscale of step ", state.begun.step,
                     " failed, so nobody knows what its gradients hold; drop "
                     "them and call Skip()"),
        step);
  }
  if (!state.vote && !state.checked) {
    return MakeError(
        Reason::kNoGradientsChecked,
        absl::StrCat("step ", state.begun.step,
                     " has checked no gradients; call Unscale(), "
                     "UnscaleLocally() or AddVerdict() first, or Skip() or "
                     "Abstain() if there are none"),
        step);
  }
  // Once sent the vote stays, whatever is found later.
  if (state.vote && (state.vote->verdict == Verdict::kFinite ||
                     state.vote->verdict == Verdict::kOverflow)) {
    return state.Cast(state.vote->verdict);
  }
  return state.Cast(state.total.overflow() ? Verdict::kOverflow
                                           : Verdict::kFinite);
}

absl::StatusOr<Decision> Step::Skip() { return state_->Cast(Verdict::kSkip); }

absl::StatusOr<Decision> Step::Abstain() {
  return state_->Cast(Verdict::kAbstain);
}

}  // namespace lossscaler
