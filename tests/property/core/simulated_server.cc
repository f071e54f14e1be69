// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "property/core/simulated_server.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lossscaler::simulation {

SimulatedServer::SimulatedServer(SessionState state, Chance* chance,
                                 std::function<void(const Reply&)> reply)
    : chance_(chance), reply_(std::move(reply)), durable_(std::move(state)) {
  core_ = std::make_unique<Coordinator>(durable_, now_);
}

void SimulatedServer::Take(const Request& request) {
  if (!Settle()) return;
  switch (request.kind) {
    case Request::Kind::kJoin:
      Join(request);
      break;
    case Request::Kind::kLeave:
      if (const auto left = core_->Leave(request.worker, moment()); left.ok()) {
        Write(*left);
      }
      break;
    case Request::Kind::kHeartbeat:
      Heartbeat(request);
      break;
    case Request::Kind::kVote:
      Vote(request);
      break;
  }
  Settle();
}

void SimulatedServer::Join(const Request& request) {
  JoinEvent event = request.join;
  event.new_token = absl::StrCat("token", ++last_token_);
  const absl::StatusOr<Joined> joined = core_->Join(event, moment());
  Reply reply{.request = request, .status = joined.status()};
  if (joined.ok()) {
    if (joined->change && !Write(*joined->change)) return;
    if (!Settle()) return;
    const absl::StatusOr<MemberView> view =
        core_->Find({event.worker, joined->incarnation}, now_);
    if (!view.ok()) return;
    reply.incarnation = joined->incarnation;
    reply.token = view->member.resume_token;
    reply.active = view->member.state == MemberState::kActive;
  }
  Send(std::move(reply));
}

void SimulatedServer::Heartbeat(const Request& request) {
  Reply reply{.request = request,
              .status = core_->KeepAlive(request.worker, now_)};
  const absl::StatusOr<MemberView> view = core_->Find(request.worker, now_);
  reply.active = view.ok() && view->member.state == MemberState::kActive;
  Send(std::move(reply));
}

void SimulatedServer::Vote(const Request& request) {
  const VoteEvent event{.call = ++last_call_,
                        .worker = request.worker,
                        .step = request.step,
                        .vote = request.vote,
                        .resolved = request.vote.verdict};
  const absl::StatusOr<VoteTaken> taken = core_->Take(event, now_);
  Reply reply{.request = request, .status = taken.status()};
  if (taken.ok() && *taken == VoteTaken::kWaits) {
    RequireActive(request.worker);
    if (core_->group().open) {
      lossscaler::Vote vote = event.vote;
      vote.incarnation = event.worker.incarnation;
      rules_.Taken(request.step, vote);
    }
    calls_[event.call] = {request, now_};
    return;
  }
  if (taken.ok()) {
    const Decision& stored = rules_.journal().at(request.step);
    core_->NoteLateVote(stored, event);
    reply.status =
        MayBeTold(durable_.uid, stored, request.worker, request.vote);
    if (reply.status.ok()) reply.decision = stored;
  }
  Send(std::move(reply));
}

// No vote of anybody else is taken.
void SimulatedServer::RequireActive(const WorkerRef& worker) const {
  for (const Member& member : durable_.group->members) {
    if (member.incarnation != worker.incarnation) continue;
    Require(
        member.worker == worker.worker && member.state == MemberState::kActive,
        "a vote was taken of a worker that is not active");
    return;
  }
  Require(false, "a vote was taken of a worker that is no member");
}

void SimulatedServer::PassTime(absl::Duration duration) {
  if (!Settle()) return;
  const absl::Time due = core_->NextDue();
  now_ += duration;
  if (now_ < due) {
    Require(!core_->Due(moment()), "something is due before its time");
  }
  Settle();
}

bool SimulatedServer::Restore(const LossScaler& scaler,
                              std::optional<std::int64_t> if_epoch) {
  if (!Settle()) return false;
  const absl::StatusOr<Change> change =
      core_->Restore(scaler, if_epoch, "restore", moment());
  const std::int64_t step = durable_.step;
  if (change.ok()) Write(*change);
  return durable_.step > step;
}

void SimulatedServer::DieAndReload() {
  core_ = std::make_unique<Coordinator>(durable_, now_);
  calls_.clear();
  rules_.ServerDied();
}

bool SimulatedServer::Settle() {
  int changes = 0;
  while (const std::optional<Change> change = core_->Due(moment())) {
    Require(++changes < 20, "changes are due without end");
    if (!Write(*change)) return false;
  }
  for (const VoteAnswer& answer : core_->DueAnswers(now_)) {
    Answer(answer, Decision());
  }
  CheckWaiting();
  return true;
}

// Waiting is bounded by step_timeout, but for those who chose to WAIT.
void SimulatedServer::CheckWaiting() const {
  const GroupConfig& config = core_->group().config;
  if (config.on_timeout == StragglerPolicy::kWait) return;
  for (const auto& [id, call] : calls_) {
    Require(now_ - call.since < config.step_timeout, "a call waits too long");
  }
}

bool SimulatedServer::Write(const Change& change) {
  if (Dies()) return false;
  rules_.Written(durable_, change);
  durable_ = change.state;
  if (Dies()) return false;
  for (const VoteAnswer& answer : core_->Install(change, now_)) {
    Answer(answer, change.decision.value_or(Decision()));
  }
  return true;
}

bool SimulatedServer::Dies() {
  if (reliable_ || !chance_->Percent(1)) return false;
  DieAndReload();
  return true;
}

void SimulatedServer::Answer(const VoteAnswer& answer,
                             const Decision& decision) {
  const auto call = calls_.find(answer.call);
  Require(call != calls_.end(), "a call was answered twice");
  Reply reply{.request = call->second.request, .status = answer.status};
  calls_.erase(call);
  if (answer.status.ok()) {
    Require(rules_.journal().at(decision.step) == decision,
            "somebody saw another decision");
    reply.decision = decision;
  }
  Send(std::move(reply));
}

void SimulatedServer::Send(Reply reply) {
  reply.current = durable_.current();
  reply.base = base();
  reply_(reply);
}

}  // namespace lossscaler::simulation
