// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "property/core/simulated_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::simulation {

SimulatedWorker::SimulatedWorker(int slot, World* world)
    : slot_(slot), world_(world) {}

void SimulatedWorker::Start(std::int64_t attempt, std::optional<Saved> loaded) {
  ++life_;
  alive_ = true;
  frozen_ = false;
  attempt_ = attempt;
  if (world_->chance->Percent(50)) token_.clear();
  parameters_ = Parameters();
  iteration_ = 0;
  presented_.reset();
  if (loaded) {
    parameters_ = loaded->parameters;
    iteration_ = loaded->iteration;
    presented_ = Checkpoint{loaded->scaler, parameters_.base, iteration_};
  }
  Rejoin();
}

void SimulatedWorker::Rejoin() {
  joined_ = active_ = lost_base_ = false;
  vote_.reset();
  join_id_ = world_->NewId();
}

void SimulatedWorker::Load(const Parameters& parameters,
                           const Current& current) {
  parameters_ = parameters;
  lost_base_ = false;
  GoTo(current);
}

Request SimulatedWorker::Of(Request::Kind kind) const {
  return {.kind = kind,
          .slot = slot_,
          .life = life_,
          .worker = {absl::StrCat("w", slot_), incarnation_}};
}

Request SimulatedWorker::LeaveRequest() const {
  return Of(Request::Kind::kLeave);
}

Request SimulatedWorker::NextRequest() {
  if (!joined_) {
    Request request = Of(Request::Kind::kJoin);
    request.join = {.worker = request.worker.worker,
                    .request_id = join_id_,
                    .resume_token = token_,
                    .attempt = attempt_,
                    .checkpoint = presented_};
    return request;
  }
  if (!active_ || world_->chance->Percent(20)) {
    return Of(Request::Kind::kHeartbeat);
  }
  if (!vote_) MakeVote();
  return *vote_;
}

void SimulatedWorker::MakeVote() {
  vote_ = Of(Request::Kind::kVote);
  vote_->step = step_;
  vote_->vote_number = ++last_vote_;
  Vote& vote = vote_->vote;
  const int draw = world_->chance->Below(100);
  vote.verdict = draw < 82   ? Verdict::kFinite
                 : draw < 90 ? Verdict::kOverflow
                 : draw < 95 ? Verdict::kAbstain
                             : Verdict::kSkip;
  if (lost_base_) vote.verdict = Verdict::kAbstain;
  if (vote.verdict != Verdict::kAbstain) {
    vote.iteration = iteration_ + (world_->chance->Percent(2) ? 1 : 0);
    vote.scale_used = scale_ * (world_->chance->Percent(2) ? 2 : 1);
  }
  // Who abstains may say where it stands; who does not never applies.
  if (vote.verdict != Verdict::kAbstain || world_->chance->Percent(80)) {
    vote.base = parameters_.base.step;
    vote.base_session_uid = parameters_.base.session_uid;
  }
}

void SimulatedWorker::GoTo(const Current& current) {
  vote_.reset();
  step_ = current.step;
  scale_ = current.scale;
}

bool SimulatedWorker::Take(const Reply& reply) {
  if (!running() || reply.request.life != life_) return false;
  if (reply.request.kind == Request::Kind::kJoin) {
    TakeJoin(reply);
    return false;
  }
  if (!joined_ || reply.request.worker.incarnation != incarnation_) {
    return false;
  }
  if (ReasonOf(reply.status) == Reason::kFenced) {
    Rejoin();
    return false;
  }
  if (reply.request.kind == Request::Kind::kHeartbeat) TakeHeartbeat(reply);
  if (reply.request.kind == Request::Kind::kVote) TakeVote(reply);
  return ReasonOf(reply.status) == Reason::kCheckpointMismatch;
}

void SimulatedWorker::TakeJoin(const Reply& reply) {
  if (joined_ || reply.request.join.request_id != join_id_) return;
  if (reply.status.ok()) {
    joined_ = true;
    incarnation_ = reply.incarnation;
    token_ = reply.token;
    active_ = reply.active;
    GoTo(reply.current);
  } else if (ReasonOf(reply.status) == Reason::kStaleAttempt) {
    Die();
  } else if (ReasonOf(reply.status) == Reason::kFenced) {
    Rejoin();
  }
}

void SimulatedWorker::TakeHeartbeat(const Reply& reply) {
  if (!reply.status.ok()) return;
  // An older answer may arrive later; once active is active.
  if (reply.active && !active_) GoTo(reply.current);
  active_ = active_ || reply.active;
}

void SimulatedWorker::TakeVote(const Reply& reply) {
  if (!vote_ || reply.request.vote_number != vote_->vote_number) return;
  if (reply.decision) {
    CarryOut(*reply.decision, "uid");
    GoTo(reply.current);
    return;
  }
  const std::optional<Reason> reason = ReasonOf(reply.status);
  Require(reason == Reason::kResync || reason == Reason::kStepAhead ||
              reason == Reason::kScaleMismatch ||
              reason == Reason::kStepForgotten ||
              reason == Reason::kSessionPaused ||
              reason == Reason::kNotActive ||
              reason == Reason::kCheckpointMismatch,
          absl::StrCat("an honest vote is refused: ",
                       std::string(reply.status.message())));
  lost_base_ = lost_base_ || reason == Reason::kResync;
  // Another copy of the vote may have been recorded: it is given again as it
  // was, unless its step is over.
  const bool again = reason == Reason::kSessionPaused ||
                     reason == Reason::kNotActive ||
                     reason == Reason::kCheckpointMismatch;
  if (!again || reply.current.step != vote_->step) GoTo(reply.current);
}

void SimulatedWorker::CarryOut(const Decision& decision,
                               const std::string& session_uid) {
  if (decision.next_iteration) iteration_ = *decision.next_iteration;
  if (!decision.apply()) return;
  const Base before{decision.base_before_session_uid.empty()
                        ? session_uid
                        : decision.base_before_session_uid,
                    decision.base_before};
  Require(parameters_.base == before, "told to apply on another base");
  Require(world_->histories[KeyOf(before)] == parameters_.history,
          "the parameters have diverged");
  parameters_.history = absl::StrCat(
      std::hash<std::string>()(parameters_.history), "+", decision.step);
  parameters_.base = {session_uid, decision.step};
  presented_.reset();
  ++iteration_;
  const auto [entry, fresh] =
      world_->histories.emplace(KeyOf(parameters_.base), parameters_.history);
  Require(entry->second == parameters_.history,
          "one step was applied to different parameters");
  if (!world_->chance->Percent(20)) return;
  std::vector<Saved>& saved = world_->checkpoints;
  saved.push_back({parameters_, world_->config, iteration_});
  if (saved.size() > 5) saved.erase(saved.begin());
}

void SimulatedWorker::Resync(const SimulatedWorker& peer,
                             const Current& current) {
  iteration_ = peer.iteration_;
  Load(peer.parameters_, current);
}

}  // namespace lossscaler::simulation
