// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/session_state.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/internal/random_id.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

// Whether `error` is the server's word that it has not done, and will not do,
// what it was asked. Everything else leaves open whether it did.
bool IsRefusal(const absl::Status& error) {
  return !ReasonNameOf(error).empty() &&
         error.code() != absl::StatusCode::kUnavailable &&
         ReasonOf(error) != Reason::kMalformedAnswer;
}

}  // namespace

Session::State::State(std::shared_ptr<Connection> connection_in,
                      const SessionInfo& info)
    : connection(std::move(connection_in)),
      ref{.name = info.name, .uid = info.uid},
      config(info.config),
      current_(info.current),
      base_(info.current.base) {}

Current Session::State::current() const {
  MutexLock lock(&mutex_);
  return current_;
}

Current Session::State::BeginAt() const {
  MutexLock lock(&mutex_);
  Current begin = current_;
  begin.base = base_;
  return begin;
}

std::int64_t Session::State::base() const {
  MutexLock lock(&mutex_);
  return base_;
}

void Session::State::set_base(std::int64_t base) {
  MutexLock lock(&mutex_);
  base_ = base;
}

void Session::State::Told(const Decision& decision) {
  if (!decision.apply()) return;
  MutexLock lock(&mutex_);
  // An answer to an older vote does not bring parameters that lack a later
  // step up to it, nor take newer ones back.
  if (decision.base_before == base_) base_ = decision.base_after;
}

void Session::State::Learn(const Current& heard) {
  MutexLock lock(&mutex_);
  if (std::pair(heard.epoch, heard.step) >=
      std::pair(current_.epoch, current_.step)) {
    current_ = heard;
  }
}

void Session::State::Learn(const absl::Status& error) {
  const std::optional<Reason> reason = ReasonOf(error);
  const bool ahead = reason == Reason::kStepAhead;
  if (!ahead && reason != Reason::kStepForgotten &&
      reason != Reason::kVoteConflict && reason != Reason::kEpochMismatch) {
    return;
  }
  MutexLock lock(&mutex_);
  doubtful_ = true;
  ahead_ = ahead_ || ahead;
}

absl::StatusOr<SessionInfo> Session::State::Refresh() {
  absl::StatusOr<SessionInfo> info = connection->GetSession(ref);
  if (!info.ok()) return info;
  Learn(info->current);
  MutexLock lock(&mutex_);
  // A server that has lost steps (a restored disk) knows best.
  if (ahead_) current_ = info->current;
  doubtful_ = ahead_ = false;
  return info;
}

absl::Status Session::State::CatchUp() {
  {
    MutexLock lock(&mutex_);
    if (!doubtful_) return absl::OkStatus();
  }
  return Refresh().status();
}

absl::StatusOr<Decision> Session::State::SendVote(
    std::int64_t step, const Vote& vote,
    std::optional<absl::Duration> single_attempt) {
  absl::StatusOr<UpdateAnswer> answer =
      connection->Update({.session = ref,
                          .step = step,
                          .vote = vote,
                          .single_attempt = single_attempt});
  if (answer.ok()) {
    Learn(answer->current);
    MutexLock lock(&mutex_);
    if (unanswered_vote_ && unanswered_vote_->step == step) {
      unanswered_vote_.reset();
    }
    // Once the session has gone on, an equal restore is another one.
    if (answer->decision.reason != DecisionReason::kRestored) {
      unanswered_restore_.reset();
    }
    return std::move(answer->decision);
  }
  const absl::Status& error = answer.status();
  {
    MutexLock lock(&mutex_);
    if (!IsRefusal(error)) {
      unanswered_vote_ = CastVote{.step = step, .vote = vote};
    } else if (unanswered_vote_ && unanswered_vote_->step == step &&
               SameVote(unanswered_vote_->vote, vote)) {
      unanswered_vote_.reset();
    }
  }
  Learn(error);
  // The error of the vote tells the caller more than one of this would; and
  // BeginStep() tries again.
  if (!single_attempt) CatchUp().IgnoreError();
  return error;
}

bool Session::State::HasUnanswered(std::int64_t step) const {
  MutexLock lock(&mutex_);
  return unanswered_vote_ && unanswered_vote_->step == step;
}

absl::Status Session::State::Settle() {
  std::optional<CastVote> cast;
  {
    MutexLock lock(&mutex_);
    cast = unanswered_vote_;
  }
  if (cast) {
    const absl::Status status =
        SendVote(cast->step, cast->vote, std::nullopt).status();
    if (!status.ok() && !IsRefusal(status)) return status;
  }
  return CatchUp();
}

absl::StatusOr<Decision> Session::State::Restore(const LossScaler& scaler) {
  AskedRestore asked;
  {
    MutexLock lock(&mutex_);
    if (!unanswered_restore_ || unanswered_restore_->scaler != scaler) {
      unanswered_restore_ = AskedRestore{.scaler = scaler,
                                         .if_epoch = current_.epoch,
                                         .request_id = internal::RandomId()};
    }
    asked = *unanswered_restore_;
  }
  absl::StatusOr<RestoreAnswer> answer =
      connection->RestoreSession(ref, scaler, asked.if_epoch, asked.request_id);
  if (answer.ok() || IsRefusal(answer.status())) {
    MutexLock lock(&mutex_);
    if (unanswered_restore_ &&
        unanswered_restore_->request_id == asked.request_id) {
      unanswered_restore_.reset();
    }
    if (answer.ok()) {
      unanswered_vote_.reset();
      base_ = answer->decision.base_after;
    }
  }
  if (!answer.ok()) {
    Learn(answer.status());
    CatchUp().IgnoreError();
    return answer.status();
  }
  Learn(answer->session.current);
  return std::move(answer->decision);
}

}  // namespace lossscaler
