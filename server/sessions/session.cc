// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/session.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/check_vote.h"
#include "lossscaler/core/coordinator_errors.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group_draft.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/solo.h"
#include "sessions/solo_events.h"

namespace lossscaler::server {
namespace {

absl::Status NotAGroup(std::string_view name) {
  return MakeError(Reason::kWrongKind,
                   absl::StrCat("session '", std::string(name),
                                "' is a solo session, which has no workers; "
                                "call Update without a worker or parts, or "
                                "create a group session under another name"),
                   {{"session", std::string(name)}, {"kind", "SOLO"}});
}

absl::Status NoWorker(std::string_view name) {
  return MakeError(Reason::kWrongKind,
                   absl::StrCat("session '", std::string(name),
                                "' is a group session, and the vote names no "
                                "worker; join it, and vote as the worker and "
                                "incarnation that joined"),
                   {{"session", std::string(name)}, {"kind", "GROUP"}});
}

absl::Status StepRequired(std::string_view name) {
  return MakeError(
      Reason::kStepRequired,
      absl::StrCat("the call names no step, and session '", std::string(name),
                   "' is a group, which may have moved on; name "
                   "the step that the caller works on"),
      {{"session", std::string(name)}});
}

bool IsLiveMember(const GroupState& group, const WorkerRef& worker) {
  const Member* const member = FindMember(group.members, worker.incarnation);
  return member != nullptr && member->worker == worker.worker &&
         IsLive(*member);
}

}  // namespace

absl::Status SessionNotFound(std::string_view name) {
  return MakeError(Reason::kSessionNotFound,
                   absl::StrCat("there is no session '", std::string(name),
                                "'; create it first"),
                   {{"session", std::string(name)}});
}

void PendingCall::Cancel() {
  if (const std::shared_ptr<Session> session = session_.lock()) {
    session->Cancel(call_);
  }
}

void Session::Create(const SessionState& initial, Done<SessionSnapshot> done) {
  Event event{.react =
                  [this, initial, done](const State&) {
                    return Reaction{
                        .write = Write{.state = initial},
                        .answer = [this, done] { done(FullSnapshot()); },
                        .cause = Cause::kCreate};
                  },
              .fail = done};
  {
    MutexLock lock(&mutex_);
    events_.push_front(std::move(event));
    busy_ = false;
  }
  Pump();
}

void Session::Delete(std::string_view request_id, Done<SessionSnapshot> done) {
  Enqueue({.react =
               [this, request_id = std::string(request_id),
                done](const State& state) {
                 if (state == nullptr) {
                   return Refuse(done, SessionNotFound(name_));
                 }
                 Write write{.state = *state};
                 ++write.state.revision;
                 write.deletion = Deletion{.request_id = request_id,
                                           .session = name_,
                                           .session_uid = state->uid,
                                           .time = environment_->now()};
                 return Reaction{.write = std::move(write),
                                 .answer =
                                     [state, done] {
                                       done(SessionSnapshot{.state = *state});
                                     },
                                 .cause = Cause::kDelete};
               },
           .fail = done});
}

PendingCall Session::Update(std::optional<std::int64_t> step, Vote vote,
                            Done<UpdateAnswer> done) {
  done = Timed(std::move(done));
  const State now = state();
  if (now != nullptr && !now->group) {
    // What is wrong whatever the state is needs no turn. In a group it is a
    // sign of life.
    if (absl::Status status = CheckVote(step, vote); !status.ok()) {
      done(status);
      return {};
    }
  }
  const CallId call = NewCall();
  Enqueue({.react =
               [this, call, step, vote = std::move(vote),
                done](const State& state) {
                 if (state == nullptr) {
                   return Refuse(done, SessionNotFound(name_));
                 }
                 if (group_ == nullptr) {
                   if (!vote.worker.empty() || vote.incarnation != 0 ||
                       !vote.parts.empty()) {
                     return Refuse(done, NotAGroup(name_));
                   }
                   return ReactToSoloUpdate(
                       state, log_, step, vote,
                       [this](const Vote& cast) { return Resolve(cast); },
                       environment_->now(), done);
                 }
                 if (vote.worker.empty() && vote.incarnation == 0) {
                   return Refuse(done, NoWorker(name_));
                 }
                 return group_->Vote(
                     {.call = call,
                      .worker = {vote.worker, vote.incarnation},
                      .step = step,
                      .vote = vote,
                      .resolved =
                          step == state->step ? Resolve(vote) : vote.verdict},
                     done);
               },
           .fail = done});
  return PendingCall(weak_from_this(), call);
}

Done<UpdateAnswer> Session::Timed(Done<UpdateAnswer> done) const {
  if (environment_->observers.empty()) return done;
  for (SessionObserver* const observer : environment_->observers) {
    observer->OnVote();
  }
  return [environment = environment_, began = environment_->monotonic(),
          done = std::move(done)](const absl::StatusOr<UpdateAnswer>& answer) {
    const absl::Duration waited = environment->monotonic() - began;
    for (SessionObserver* const observer : environment->observers) {
      observer->OnVoteAnswered(waited, answer.ok());
    }
    done(answer);
  };
}

void Session::NoteUnscaled(std::int64_t bytes,
                           const UnscaleVerdict& verdict) const {
  for (SessionObserver* const observer : environment_->observers) {
    observer->OnUnscaled(bytes, verdict);
  }
}

PendingCall Session::CastVote(WorkerRef worker,
                              std::optional<std::int64_t> step, Vote vote,
                              Done<UpdateAnswer> done) {
  const State now = state();
  if (now != nullptr && !now->group) {
    done(NotAGroup(name_));
    return {};
  }
  vote.worker = std::move(worker.worker);
  vote.incarnation = worker.incarnation;
  return Update(step, std::move(vote), std::move(done));
}

void Session::Restore(const LossScaler& scaler,
                      std::optional<std::int64_t> if_epoch,
                      std::string_view request_id, Done<RestoreAnswer> done) {
  if (absl::Status status = ValidateRequestId(request_id); !status.ok()) {
    return done(status);
  }
  Enqueue({.react =
               [this, scaler, if_epoch, request_id = std::string(request_id),
                done](const State& state) {
                 if (state == nullptr) {
                   return Refuse(done, SessionNotFound(name_));
                 }
                 return group_ != nullptr
                            ? group_->Restore(scaler, if_epoch, request_id,
                                              done)
                            : ReactToSoloRestore(state, log_, scaler, if_epoch,
                                                 request_id,
                                                 environment_->now(), done);
               },
           .fail = done});
}

void Session::Look(Done<SessionSnapshot> done) {
  Enqueue({.react =
               [this, done](const State& state) {
                 if (state == nullptr) {
                   return Refuse(done, SessionNotFound(name_));
                 }
                 return Reaction{.answer = [done, snapshot = FullSnapshot()] {
                   done(snapshot);
                 }};
               },
           .fail = done,
           .needs_no_store = true});
}

template <typename Callback>
void Session::EnqueueGroup(const Callback& done,
                           std::function<Reaction(GroupEvents&)> react,
                           bool needs_no_store) {
  Enqueue({.react =
               [this, done, react = std::move(react)](const State& state) {
                 if (state == nullptr) {
                   return Refuse(done, SessionNotFound(name_));
                 }
                 if (group_ == nullptr) return Refuse(done, NotAGroup(name_));
                 return react(*group_);
               },
           .fail = done,
           .needs_no_store = needs_no_store});
}

void Session::Join(JoinEvent event, Done<JoinAnswer> done) {
  event.new_token = environment_->new_token();
  EnqueueGroup(done, [event = std::move(event), done](GroupEvents& group) {
    return group.Join(event, done);
  });
}

void Session::Leave(WorkerRef worker, std::function<void(absl::Status)> done) {
  EnqueueGroup(done, [worker = std::move(worker), done](GroupEvents& group) {
    return group.Leave(worker, done);
  });
}

void Session::KeepAlive(WorkerRef worker, std::optional<Checkpoint> checkpoint,
                        Done<Membership> done) {
  const bool only_renews = !checkpoint.has_value();
  EnqueueGroup(
      done,
      [worker = std::move(worker), checkpoint = std::move(checkpoint),
       done](GroupEvents& group) {
        return group.KeepAlive(worker, checkpoint, done);
      },
      only_renews);
}

PendingCall Session::Follow(WorkerRef worker, Done<Membership> changed) {
  const CallId call = NewCall();
  EnqueueGroup(
      changed,
      [call, worker = std::move(worker), changed](GroupEvents& group) {
        return group.Follow(call, worker, changed);
      },
      /*needs_no_store=*/true);
  return PendingCall(weak_from_this(), call);
}

void Session::Cancel(CallId call) {
  Enqueue({.react =
               [this, call](const State&) {
                 return group_ != nullptr ? group_->Cancel(call) : Reaction{};
               },
           .fail = [](const absl::Status&) {},
           .needs_no_store = true});
}

void Session::Drain(const absl::Status& error) {
  {
    MutexLock lock(&mutex_);
    drained_ = error;
  }
  WakeWatchers();
  Enqueue({.react =
               [this, error](const State&) {
                 if (group_ != nullptr) group_->Close(error);
                 return Reaction{};
               },
           .fail = [](const absl::Status&) {},
           .needs_no_store = true});
}

bool Session::gone() const {
  MutexLock lock(&mutex_);
  return state_ == nullptr && !creating_ && unsure_uid_.empty();
}

State Session::state() const {
  MutexLock lock(&mutex_);
  return state_;
}

std::optional<std::string> Session::uid() const {
  MutexLock lock(&mutex_);
  if (state_ == nullptr) return std::nullopt;
  return state_->uid;
}

std::optional<SessionSnapshot> Session::Snapshot() const {
  MutexLock lock(&mutex_);
  if (state_ == nullptr) return std::nullopt;
  SessionSnapshot snapshot{.state = *state_, .last_decision = log_.Last()};
  if (state_->group) snapshot.phase = PhaseOf(*state_->group);
  return snapshot;
}

SessionSnapshot Session::FullSnapshot() const {
  // Only events change what it shows, and this is one.
  SessionSnapshot snapshot = *Snapshot();
  if (group_ != nullptr) group_->Complete(&snapshot);
  return snapshot;
}

absl::StatusOr<std::vector<Decision>> Session::ListDecisions(
    const DecisionQuery& query) const {
  const State now = state();
  if (now == nullptr) return SessionNotFound(name_);
  return log_.List(*now, query);
}

absl::StatusOr<StepScale> Session::ScaleOf(
    std::optional<std::int64_t> step) const {
  const State now = state();
  if (now == nullptr) return SessionNotFound(name_);
  if (!step && now->group) return StepRequired(name_);
  StepScale result{.step = step.value_or(now->step),
                   .scale = now->scaler.scale(),
                   .epoch = now->epoch,
                   .arithmetic = now->scaler.unscale_arithmetic()};
  if (absl::Status status = CheckStep(*now, result.step); !status.ok()) {
    return status;
  }
  if (result.step < now->step) {
    const absl::StatusOr<Decision> decision = log_.FindStep(*now, result.step);
    if (!decision.ok()) return decision.status();
    result.scale = decision->scale_before;
  }
  return result;
}

absl::Status Session::OpenStream(const WorkerRef& worker, std::int64_t step,
                                 std::string_view stream_id) {
  bool renew = false;
  {
    MutexLock lock(&mutex_);
    if (state_ == nullptr) return SessionNotFound(name_);
    renew = state_->group.has_value();
    if (renew && !IsLiveMember(*state_->group, worker)) return Fenced(worker);
    if (!renew && (!worker.worker.empty() || worker.incarnation != 0)) {
      return NotAGroup(name_);
    }
    if (step == state_->step) {
      StreamLedger& ledger =
          ledgers_.try_emplace(worker.incarnation, environment_->ledger_budget)
              .first->second;
      if (absl::Status status = ledger.Open(stream_id); !status.ok()) {
        return status;
      }
    }
  }
  if (renew) KeepAlive(worker, std::nullopt, [](const auto&) {});
  return absl::OkStatus();
}

void Session::FinishStream(const WorkerRef& worker, std::int64_t step,
                           std::string_view stream_id, bool overflow,
                           std::vector<TensorCoverage> coverage) {
  MutexLock lock(&mutex_);
  if (state_ == nullptr || step != state_->step) return;
  const auto ledger = ledgers_.find(worker.incarnation);
  if (ledger == ledgers_.end()) return;
  ledger->second.Finish(stream_id, overflow, std::move(coverage));
}

void Session::RetractStream(const WorkerRef& worker, std::int64_t step,
                            std::string_view stream_id) {
  MutexLock lock(&mutex_);
  if (state_ == nullptr || step != state_->step) return;
  const auto ledger = ledgers_.find(worker.incarnation);
  if (ledger != ledgers_.end()) ledger->second.Retract(stream_id);
}

absl::StatusOr<Verdict> Session::Resolve(const Vote& vote) const {
  if (vote.verdict != Verdict::kUnset) return vote.verdict;
  MutexLock lock(&mutex_);
  const auto ledger = ledgers_.find(vote.incarnation);
  if (ledger != ledgers_.end()) return ledger->second.Resolve(vote.stream_ids);
  return StreamLedger(environment_->ledger_budget).Resolve(vote.stream_ids);
}

}  // namespace lossscaler::server
