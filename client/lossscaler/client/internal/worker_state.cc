// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/worker_state.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/random_id.h"
#include "lossscaler/client/internal/worker_errors.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {

WorkerState::WorkerState(std::shared_ptr<Connection> connection_in,
                         const SessionInfo& info, LinkOptions options,
                         JoinEvent join)
    : connection(std::move(connection_in)),
      ref{.name = info.name, .uid = info.uid},
      config(info.config),
      link(std::make_shared<WorkerLink>(connection, ref, options)),
      clock_(options.clock),
      join_(std::move(join)) {
  MutexLock lock(&mutex_);
  if (join_.checkpoint) Load(*join_.checkpoint);
}

WorkerState::~WorkerState() { Stop(); }

void WorkerState::Stop() {
  link->Close();
  if (keeper_.joinable()) keeper_.join();
}

void WorkerState::Load(const Checkpoint& loaded) {
  base_ = loaded.base;
  if (loaded.iteration) iteration_ = loaded.iteration;
  scaler_ = loaded.scaler;
  scaler_step_ = 0;
  next_.reset();
}

absl::Status WorkerState::Join() { return JoinBy(&Connection::JoinSession); }

absl::Status WorkerState::Rejoin() {
  return MembershipEnded(JoinBy(&Connection::RejoinSession));
}

JoinEvent WorkerState::NextJoin(bool fresh) {
  MutexLock lock(&mutex_);
  if (fresh || join_.request_id.empty()) join_.request_id = RandomId();
  JoinEvent join = join_;
  // Until the first decision, what was loaded; then the session knows.
  if (told_step_ > 0) join.checkpoint.reset();
  return join;
}

absl::Status WorkerState::JoinBy(JoinCall call) {
  const absl::Time sent_at = clock_->Now();
  JoinEvent join = NextJoin(/*fresh=*/false);
  absl::StatusOr<JoinAnswer> answer = (connection.get()->*call)(ref, join);
  if (ReasonOf(answer.status()) == Reason::kFenced) {
    // The incarnation of an earlier call, whose answer was lost, is gone.
    join = NextJoin(/*fresh=*/true);
    answer = (connection.get()->*call)(ref, join);
  }
  if (!answer.ok()) return answer.status();
  {
    MutexLock lock(&mutex_);
    join_.request_id.clear();
    join_.resume_token = answer->resume_token;
    next_.reset();
    // Not after a checkpoint: the session is restored before its first step.
    if (answer->membership.state == MemberState::kActive && !join.checkpoint) {
      next_ = answer->membership.current;
    }
  }
  link->Joined({.worker = join.worker, .incarnation = answer->incarnation},
               *answer, sent_at);
  if (!keeper_.joinable()) {
    keeper_ = std::thread([held = link] {
      while (held->WaitForTick(held->Tick())) {
      }
    });
  }
  return absl::OkStatus();
}

absl::Status WorkerState::Leave() {
  link->EndWaits();
  // Whoever is not heard of for that long is no member any more.
  const absl::Status status =
      connection->LeaveSessionWithin(ref, link->worker(), link->lease_ttl());
  Stop();
  return status;
}

absl::StatusOr<BegunStep> WorkerState::Begin() {
  if (const std::shared_ptr<PendingVote> vote = UnansweredVote();
      vote && !link->Heard(*vote)) {
    const absl::Status status = Hear(vote).status();
    if (!link->Heard(*vote)) return status;
  }
  for (;;) {
    const absl::StatusOr<Current> current = link->AwaitOpen();
    if (!current.ok()) return current.status();
    if (const std::optional<BegunStep> begun = BeginAt(*current)) return *begun;
    const absl::StatusOr<std::int64_t> fetched = FetchScaler();
    if (!fetched.ok()) return fetched.status();
    // The stream was ahead of this call: it does not know the step yet.
    if (*fetched < current->step) link->AwaitNews();
  }
}

std::optional<BegunStep> WorkerState::BeginAt(const Current& session) const {
  MutexLock lock(&mutex_);
  BegunStep begun{.current = session, .base = base_, .iteration = iteration_};
  if (next_ && next_->step < session.step) {
    begun.current = *next_;
  } else if (!scaler_ || scaler_step_ != session.step ||
             scaler_->scale() != session.scale) {
    return std::nullopt;
  }
  if (begun.current.base_session_uid.empty()) {
    begun.current.base_session_uid = ref.uid;
  }
  return begun;
}

bool WorkerState::KnowsScaler() const {
  return scaler_ && (!next_ || scaler_step_ == next_->step);
}

absl::StatusOr<std::int64_t> WorkerState::FetchScaler() {
  absl::StatusOr<SessionInfo> info = connection->GetSession(ref);
  if (!info.ok()) return info.status();
  link->Learn(info->current);
  MutexLock lock(&mutex_);
  if (!next_ || next_->step == info->current.step) {
    scaler_ = info->scaler;
    scaler_step_ = info->current.step;
  }
  return info->current.step;
}

void WorkerState::Voted(std::shared_ptr<PendingVote> vote) {
  MutexLock lock(&mutex_);
  last_vote_ = std::move(vote);
}

std::shared_ptr<PendingVote> WorkerState::UnansweredVote() const {
  MutexLock lock(&mutex_);
  return last_vote_;
}

absl::StatusOr<Decision> WorkerState::Await(
    const std::shared_ptr<PendingVote>& vote) {
  absl::StatusOr<Decision> decision = Hear(vote);
  // It may get another answer after that error.
  const bool over = link->Heard(*vote) &&
                    ReasonOf(decision.status()) != Reason::kCheckpointMismatch;
  MutexLock lock(&mutex_);
  if (over && last_vote_ == vote) last_vote_.reset();
  return decision;
}

absl::StatusOr<Decision> WorkerState::Hear(
    const std::shared_ptr<PendingVote>& vote) {
  absl::StatusOr<Decision> decision = link->Await(vote);
  const bool heard = link->Heard(*vote);
  MutexLock lock(&mutex_);
  if (decision.ok()) {
    GoOnAfter(*vote, *decision);
  } else if (heard) {
    // Refused: there is no decision to go on from.
    next_.reset();
  }
  return decision;
}

void WorkerState::GoOnAfter(const PendingVote& vote, const Decision& decision) {
  if (decision.step <= told_step_) return;
  told_step_ = decision.step;
  next_ = Current{.step = decision.step + 1,
                  .scale = decision.scale_after,
                  .base = decision.base_after,
                  .base_session_uid = decision.base_after_session_uid,
                  .epoch = decision.epoch_after};
  if (decision.next_iteration) {
    iteration_ = decision.next_iteration;
  } else if (vote.iteration) {
    iteration_ = *vote.iteration + 1;
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
  const auto base = [&](const std::string& session_uid, std::int64_t step) {
    return Base{.session_uid = session_uid.empty() ? ref.uid : session_uid,
                .step = step};
  };
  MutexLock lock(&mutex_);
  // Other parameters may have been loaded since: they lack the step.
  if (base_ == base(decision.base_before_session_uid, decision.base_before)) {
    base_ = base(decision.base_after_session_uid, decision.base_after);
  }
}

absl::Status WorkerState::Present(const WorkerCheckpoint& loaded) {
  if (absl::Status status = link->Present(loaded.checkpoint); !status.ok()) {
    return status;
  }
  MutexLock lock(&mutex_);
  join_.checkpoint = loaded.checkpoint;
  Load(loaded.checkpoint);
  return absl::OkStatus();
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
  return join_.resume_token;
}

absl::StatusOr<WorkerCheckpoint> WorkerState::Save() {
  bool known;
  {
    MutexLock lock(&mutex_);
    known = KnowsScaler();
  }
  if (!known) {
    if (absl::Status status = FetchScaler().status(); !status.ok()) {
      return status;
    }
  }
  MutexLock lock(&mutex_);
  if (!KnowsScaler()) {
    return absl::UnavailableError(absl::StrCat(
        "the scaler as of step ", next_->step,
        " is not known any more, for the session is further; take the "
        "decisions of the steps until there, and save then"));
  }
  return WorkerCheckpoint{.checkpoint = {.scaler = *scaler_,
                                         .base = base_,
                                         .iteration = iteration_},
                          .attempt = join_.attempt};
}

}  // namespace lossscaler::internal
