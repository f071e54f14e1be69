// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/worker_state.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/internal/random_id.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// Whether the vote may still get another answer than `error`.
bool MayBeAskedAgain(const absl::Status& error) {
  const std::optional<Reason> reason = ReasonOf(error);
  return error.code() == absl::StatusCode::kUnavailable ||
         error.code() == absl::StatusCode::kCancelled ||
         reason == Reason::kFenced;
}

}  // namespace

WorkerState::WorkerState(std::shared_ptr<Connection> connection_in,
                         const SessionInfo& info, LinkOptions options)
    : connection(std::move(connection_in)),
      ref{.name = info.name, .uid = info.uid},
      config(info.config),
      link(std::make_shared<WorkerLink>(connection, ref, options)),
      clock_(options.clock) {}

WorkerState::~WorkerState() { Stop(); }

void WorkerState::Stop() {
  link->Close();
  if (keeper_.joinable()) keeper_.join();
}

absl::Status WorkerState::Join() {
  JoinEvent join = event;
  {
    MutexLock lock(&mutex_);
    if (!resume_token_.empty()) join.resume_token = resume_token_;
    // Until the first decision, what was loaded; then the session knows.
    if (told_step_ > 0) join.checkpoint.reset();
  }
  // Repeated under the same id, a join whose answer was lost is one join.
  if (event.request_id.empty()) event.request_id = RandomId();
  join.request_id = event.request_id;
  const absl::Time sent_at = clock_->Now();
  absl::StatusOr<JoinAnswer> answer = connection->JoinSession(ref, join);
  if (!answer.ok() && ReasonOf(answer.status()) == Reason::kFenced) {
    // The incarnation of an earlier call, whose answer was lost, is gone.
    join.request_id = event.request_id = RandomId();
    answer = connection->JoinSession(ref, join);
  }
  if (!answer.ok()) return answer.status();
  event.request_id.clear();
  {
    MutexLock lock(&mutex_);
    resume_token_ = answer->resume_token;
    next_.reset();
    // Not after a checkpoint: the session is restored before its first step.
    if (answer->membership.state == MemberState::kActive && !join.checkpoint) {
      next_ = answer->membership.current;
    }
  }
  link->Joined({.worker = event.worker, .incarnation = answer->incarnation},
               *answer, sent_at);
  if (!keeper_.joinable()) {
    keeper_ = std::thread([held = link] {
      while (held->WaitForTick(held->Tick())) {
      }
    });
  }
  return absl::OkStatus();
}

absl::StatusOr<BegunStep> WorkerState::Begin() {
  std::shared_ptr<CastVote> cast;
  {
    MutexLock lock(&mutex_);
    cast = under_way_;
  }
  if (cast) {
    const absl::Status status = Await(cast.get()).status();
    if (!status.ok() && MayBeAskedAgain(status)) return status;
  }
  for (;;) {
    absl::StatusOr<Current> current = link->AwaitOpen();
    if (!current.ok()) return current.status();
    if (!Follows(*current) && !KnowsScaler(*current)) {
      absl::StatusOr<bool> fetched = FetchScaler(current->step);
      if (!fetched.ok()) return fetched.status();
      if (!*fetched) continue;
      current = link->AwaitOpen();
      if (!current.ok()) return current.status();
      if (!KnowsScaler(*current)) continue;
    }
    MutexLock lock(&mutex_);
    if (next_ && next_->step < current->step) *current = *next_;
    if (current->base_session_uid.empty()) current->base_session_uid = ref.uid;
    return BegunStep{
        .current = *current, .base = base_, .iteration = iteration_};
  }
}

bool WorkerState::Follows(const Current& current) const {
  MutexLock lock(&mutex_);
  return next_ && next_->step < current.step && scaler_ &&
         scaler_step_ == next_->step;
}

bool WorkerState::KnowsScaler(const Current& current) const {
  MutexLock lock(&mutex_);
  return scaler_ && scaler_step_ == current.step &&
         scaler_->scale() == current.scale;
}

absl::StatusOr<bool> WorkerState::FetchScaler(std::int64_t step) {
  absl::StatusOr<SessionInfo> info = connection->GetSession(ref);
  if (!info.ok()) return info.status();
  link->Learn(info->current);
  if (info->current.step < step) return false;
  MutexLock lock(&mutex_);
  scaler_ = std::move(info->scaler);
  scaler_step_ = info->current.step;
  return info->current.step == step;
}

void WorkerState::Voted(std::shared_ptr<CastVote> cast) {
  MutexLock lock(&mutex_);
  under_way_ = std::move(cast);
}

absl::StatusOr<Decision> WorkerState::Await(CastVote* cast) {
  absl::StatusOr<Decision> decision = link->Await(cast);
  if (decision.ok()) Told(*cast, *decision);
  if (decision.ok() || !MayBeAskedAgain(decision.status())) {
    MutexLock lock(&mutex_);
    // Refused: there is no decision to follow.
    if (!decision.ok()) next_.reset();
    if (under_way_.get() == cast) under_way_.reset();
  }
  return decision;
}

void WorkerState::Told(const CastVote& cast, const Decision& decision) {
  MutexLock lock(&mutex_);
  if (decision.step <= told_step_) return;
  told_step_ = decision.step;
  next_ = Current{.step = decision.step + 1,
                  .scale = decision.scale_after,
                  .base = decision.base_after,
                  .base_session_uid = decision.base_after_session_uid,
                  .epoch = decision.epoch_after};
  if (decision.next_iteration) {
    iteration_ = decision.next_iteration;
  } else if (cast.vote.iteration) {
    iteration_ = *cast.vote.iteration + 1;
  }
  if (!scaler_ || scaler_step_ != decision.step) return;
  if (decision.outcome == Outcome::kApply ||
      decision.outcome == Outcome::kSkipOverflow) {
    scaler_->Update(decision.overflow);
  }
  scaler_step_ = decision.step + 1;
  // Restored, or another version's rules: the server knows.
  if (decision.reason == DecisionReason::kRestored ||
      scaler_->scale() != decision.scale_after) {
    scaler_.reset();
  }
}

void WorkerState::Applied(const Decision& decision) {
  MutexLock lock(&mutex_);
  base_ = {.session_uid = decision.base_after_session_uid.empty()
                              ? ref.uid
                              : decision.base_after_session_uid,
           .step = decision.base_after};
}

Base WorkerState::base() const {
  MutexLock lock(&mutex_);
  return base_;
}

void WorkerState::set_base(const Base& base) {
  MutexLock lock(&mutex_);
  base_ = base;
}

std::optional<std::int64_t> WorkerState::iteration() const {
  MutexLock lock(&mutex_);
  return iteration_;
}

void WorkerState::set_iteration(std::int64_t iteration) {
  MutexLock lock(&mutex_);
  iteration_ = iteration;
}

std::string WorkerState::resume_token() const {
  MutexLock lock(&mutex_);
  return resume_token_;
}

absl::StatusOr<WorkerCheckpoint> WorkerState::Save() {
  bool known;
  {
    MutexLock lock(&mutex_);
    known = scaler_.has_value();
  }
  if (!known) {
    absl::StatusOr<bool> fetched = FetchScaler(link->membership().current.step);
    if (!fetched.ok()) return fetched.status();
  }
  MutexLock lock(&mutex_);
  return WorkerCheckpoint{.checkpoint = {.scaler = scaler_ ? *scaler_ : config,
                                         .base = base_,
                                         .iteration = iteration_},
                          .attempt = event.attempt};
}

}  // namespace lossscaler::internal
