// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/session.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/solo.h"
#include "store/journal.h"

namespace lossscaler::server {
namespace {

absl::Status StoreUnavailable(const Session::Environment& environment,
                              std::string_view what,
                              std::string_view consequence,
                              const absl::Status& status) {
  return MakeRetryableError(
      Reason::kStoreUnavailable,
      absl::StrCat(std::string(what), ": ", std::string(status.message()), "; ",
                   std::string(consequence)),
      environment.retry_delay, {{"cause", std::string(status.message())}});
}

absl::Status CouldNotWrite(const Session::Environment& environment,
                           const absl::Status& status) {
  return StoreUnavailable(environment, "the store could not write",
                          "nothing was decided, call again", status);
}

absl::Status CouldNotReadJournal(const Session::Environment& environment,
                                 const absl::Status& status) {
  return StoreUnavailable(environment, "the journal could not be read",
                          "nothing was decided, call again", status);
}

}  // namespace

absl::Status SessionNotFound(std::string_view name) {
  return MakeError(Reason::kSessionNotFound,
                   absl::StrCat("there is no session '", std::string(name),
                                "'; create it first"),
                   {{"session", std::string(name)}});
}

Session::Session(std::string name, const Environment* environment)
    : name_(std::move(name)),
      environment_(environment),
      busy_(true),
      creating_(true),
      ledger_(environment->ledger_budget) {}

Session::Session(StoredSession stored, const Environment* environment)
    : name_(stored.state.name),
      environment_(environment),
      state_(std::make_shared<SessionState>(std::move(stored.state))),
      recent_(stored.recent.begin(), stored.recent.end()),
      ledger_(environment->ledger_budget) {}

void Session::Create(const SessionState& initial, Done<SessionSnapshot> done) {
  Event event{.react =
                  [initial, done](const State&) {
                    return Reaction{.write = Write{.state = initial},
                                    .answer = [initial, done] {
                                      done(SessionSnapshot{.state = initial});
                                    }};
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
                                 .answer = [state, done] {
                                   done(SessionSnapshot{.state = *state});
                                 }};
               },
           .fail = done});
}

void Session::Update(std::optional<std::int64_t> step, Vote vote,
                     Done<UpdateAnswer> done) {
  if (absl::Status status = CheckVote(step, vote); !status.ok()) {
    return done(status);
  }
  Enqueue({.react =
               [this, step, vote = std::move(vote), done](const State& state) {
                 return ReactToUpdate(state, step, vote, done);
               },
           .fail = done});
}

Session::Reaction Session::ReactToUpdate(const State& state,
                                         std::optional<std::int64_t> step,
                                         Vote vote,
                                         const Done<UpdateAnswer>& done) {
  const auto replay = [&](const Decision& decision) {
    if (absl::Status status = CheckReplay(*state, decision, vote);
        !status.ok()) {
      return Refuse(done, status);
    }
    return Reaction{.answer = [done, decision, state] {
      done(UpdateAnswer{.decision = decision, .current = state->current()});
    }};
  };

  if (state == nullptr) return Refuse(done, SessionNotFound(name_));
  if (!step) {
    const absl::StatusOr<std::optional<Decision>> made =
        FindByRequest(state->uid, vote.request_id);
    if (!made.ok()) return Refuse(done, made.status());
    if (*made) return replay(**made);
    step = state->step;
  }
  if (absl::Status status = CheckStep(*state, *step); !status.ok()) {
    return Refuse(done, status);
  }
  if (*step < state->step) {
    const absl::StatusOr<Decision> decision = FindByStep(*state, *step);
    if (!decision.ok()) return Refuse(done, decision.status());
    return replay(*decision);
  }

  vote.resolved = vote.verdict;
  if (vote.verdict == Verdict::kUnset) {
    MutexLock lock(&mutex_);
    const absl::StatusOr<Verdict> found = ledger_.Resolve(vote.stream_ids);
    if (!found.ok()) return Refuse(done, found.status());
    vote.resolved = *found;
  }
  absl::StatusOr<Decided> decided = Decide(*state, vote, environment_->now());
  if (!decided.ok()) return Refuse(done, decided.status());
  UpdateAnswer answer{.decision = decided->decision,
                      .current = decided->state.current()};
  return Reaction{.write = Write{.state = std::move(decided->state),
                                 .decision = std::move(decided->decision)},
                  .answer = [done, answer] { done(answer); }};
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
                 return ReactToRestore(state, scaler, if_epoch, request_id,
                                       done);
               },
           .fail = done});
}

Session::Reaction Session::ReactToRestore(const State& state,
                                          const LossScaler& scaler,
                                          std::optional<std::int64_t> if_epoch,
                                          const std::string& request_id,
                                          const Done<RestoreAnswer>& done) {
  if (state == nullptr) return Refuse(done, SessionNotFound(name_));
  // The request id comes first: a repeated call must not be refused for the
  // epoch that its own first copy made.
  const absl::StatusOr<std::optional<Decision>> made =
      FindByRequest(state->uid, request_id);
  if (!made.ok()) return Refuse(done, made.status());
  if (*made && (*made)->request_id != request_id) {
    return Refuse(
        done,
        MakeError(Reason::kInvalidField,
                  absl::StrCat("request_id ", Quoted(request_id),
                               " is that of the vote on step ", (*made)->step,
                               "; a restore needs an id of its own"),
                  {{"field", "request_id"},
                   {"value", Quoted(request_id)},
                   {"step", absl::StrCat((*made)->step)}}));
  }
  if (*made) {
    // Only the step's own events change what Snapshot() shows, and this is one.
    RestoreAnswer answer{.decision = **made, .snapshot = *Snapshot()};
    return Reaction{.answer = [done, answer] { done(answer); }};
  }
  absl::StatusOr<Decided> restored = lossscaler::Restore(
      *state, scaler, if_epoch, request_id, environment_->now());
  if (!restored.ok()) return Refuse(done, restored.status());
  RestoreAnswer answer{.decision = restored->decision,
                       .snapshot = {.state = restored->state,
                                    .last_decision = restored->decision}};
  return Reaction{.write = Write{.state = std::move(restored->state),
                                 .decision = std::move(restored->decision)},
                  .answer = [done, answer] { done(answer); }};
}

void Session::Look(Done<SessionSnapshot> done) {
  Enqueue({.react =
               [this, done](const State& state) {
                 if (state == nullptr) {
                   return Refuse(done, SessionNotFound(name_));
                 }
                 return Reaction{.answer = [done, snapshot = *Snapshot()] {
                   done(snapshot);
                 }};
               },
           .fail = done});
}

template <typename T>
Session::Reaction Session::Refuse(const Done<T>& done,
                                  const absl::Status& error) {
  return Reaction{.answer = [done, error] { done(error); }};
}

bool Session::gone() const {
  MutexLock lock(&mutex_);
  return state_ == nullptr && !creating_ && unsure_uid_.empty();
}

std::optional<SessionSnapshot> Session::Snapshot() const {
  MutexLock lock(&mutex_);
  if (state_ == nullptr) return std::nullopt;
  SessionSnapshot snapshot{.state = *state_};
  if (!recent_.empty()) snapshot.last_decision = recent_.back();
  return snapshot;
}

absl::StatusOr<StepScale> Session::ScaleOf(
    std::optional<std::int64_t> step) const {
  State state;
  {
    MutexLock lock(&mutex_);
    state = state_;
  }
  if (state == nullptr) return SessionNotFound(name_);
  StepScale result{.step = step.value_or(state->step),
                   .scale = state->scaler.scale(),
                   .epoch = state->epoch,
                   .arithmetic = state->scaler.unscale_arithmetic()};
  if (absl::Status status = CheckStep(*state, result.step); !status.ok()) {
    return status;
  }
  if (result.step < state->step) {
    const absl::StatusOr<Decision> decision = FindByStep(*state, result.step);
    if (!decision.ok()) return decision.status();
    result.scale = decision->scale_before;
  }
  return result;
}

absl::Status Session::OpenStream(std::int64_t step,
                                 std::string_view stream_id) {
  MutexLock lock(&mutex_);
  if (state_ == nullptr) return SessionNotFound(name_);
  if (step != state_->step) return absl::OkStatus();
  return ledger_.Open(stream_id);
}

void Session::FinishStream(std::int64_t step, std::string_view stream_id,
                           bool overflow,
                           std::vector<TensorCoverage> coverage) {
  MutexLock lock(&mutex_);
  if (state_ == nullptr || step != state_->step) return;
  ledger_.Finish(stream_id, overflow, std::move(coverage));
}

void Session::RetractStream(std::int64_t step, std::string_view stream_id) {
  MutexLock lock(&mutex_);
  if (state_ == nullptr || step != state_->step) return;
  ledger_.Retract(stream_id);
}

void Session::Enqueue(Event event) {
  {
    MutexLock lock(&mutex_);
    events_.push_back(std::move(event));
  }
  Pump();
}

void Session::Pump() {
  // An answer may drop the last reference of a deleted session.
  const std::shared_ptr<Session> self = shared_from_this();
  while (true) {
    Event event;
    {
      MutexLock lock(&mutex_);
      if (busy_ || events_.empty()) return;
      busy_ = true;
      event = std::move(events_.front());
      events_.pop_front();
    }
    if (absl::Status status = ReloadIfUnsure(); !status.ok()) {
      SetIdle();
      event.fail(status);
      continue;
    }
    State state;
    {
      MutexLock lock(&mutex_);
      state = state_;
    }
    Reaction reaction = event.react(state);
    if (!reaction.write) {
      SetIdle();
      reaction.answer();
      continue;
    }
    {
      MutexLock lock(&mutex_);
      committing_ = std::this_thread::get_id();
    }
    Write write = *reaction.write;
    environment_->store->Commit(
        std::move(write),
        [self, written = Written{.write = *std::move(reaction.write),
                                 .answer = std::move(reaction.answer),
                                 .fail = std::move(event.fail)}](
            WriteResult result, const absl::Status& status) {
          self->OnWritten(written, result, status);
        });
    MutexLock lock(&mutex_);
    if (committing_ == std::this_thread::get_id()) committing_ = {};
    if (busy_) return;
  }
}

absl::Status Session::Settle() {
  {
    MutexLock lock(&mutex_);
    if (busy_ || unsure_uid_.empty()) return absl::OkStatus();
    busy_ = true;
  }
  const absl::Status status = ReloadIfUnsure();
  SetIdle();
  Pump();
  return status;
}

void Session::SetIdle() {
  MutexLock lock(&mutex_);
  busy_ = false;
}

absl::Status Session::ReloadIfUnsure() {
  std::string uid;
  {
    MutexLock lock(&mutex_);
    if (unsure_uid_.empty()) return absl::OkStatus();
    uid = unsure_uid_;
  }
  absl::StatusOr<std::optional<StoredSession>> stored =
      environment_->store->Reload(uid);
  if (!stored.ok()) {
    return StoreUnavailable(
        *environment_, "the session could not be read",
        "whether the last change was written is not known; call again",
        stored.status());
  }
  MutexLock lock(&mutex_);
  unsure_uid_.clear();
  if (!*stored) {
    state_ = nullptr;
    recent_.clear();
    ledger_.Clear();
    return absl::OkStatus();
  }
  if (state_ == nullptr || state_->step != (*stored)->state.step) {
    ledger_.Clear();
  }
  recent_.assign((*stored)->recent.begin(), (*stored)->recent.end());
  state_ = std::make_shared<SessionState>(std::move((*stored)->state));
  return absl::OkStatus();
}

void Session::OnWritten(const Written& written, WriteResult result,
                        const absl::Status& status) {
  absl::Status outcome;
  if (result == WriteResult::kUnknown) {
    {
      MutexLock lock(&mutex_);
      unsure_uid_ = written.write.state.uid;
    }
    outcome = ReloadIfUnsure();
    if (outcome.ok() && !Stands(written.write)) {
      outcome = CouldNotWrite(*environment_, status);
    }
  } else if (result == WriteResult::kNotDone) {
    outcome = CouldNotWrite(*environment_, status);
  }
  bool pump = false;
  {
    MutexLock lock(&mutex_);
    if (result == WriteResult::kDone) Install(written.write);
    creating_ = false;
    busy_ = false;
    pump = committing_ != std::this_thread::get_id();
  }
  if (outcome.ok()) {
    written.answer();
  } else {
    written.fail(outcome);
  }
  if (pump) Pump();
}

bool Session::Stands(const Write& write) const {
  MutexLock lock(&mutex_);
  if (write.deletion) return state_ == nullptr;
  return state_ != nullptr && state_->revision == write.state.revision;
}

void Session::Install(const Write& write) {
  if (write.deletion) {
    state_ = nullptr;
    recent_.clear();
    ledger_.Clear();
    return;
  }
  state_ = std::make_shared<SessionState>(write.state);
  if (!write.decision) return;
  recent_.push_back(*write.decision);
  if (recent_.size() > kDecisionsInMemory) recent_.pop_front();
  ledger_.Clear();
}

absl::StatusOr<std::optional<Decision>> Session::FindByRequest(
    std::string_view uid, std::string_view request_id) const {
  if (request_id.empty()) return std::nullopt;
  {
    MutexLock lock(&mutex_);
    // From the latest on, as the store does.
    for (auto it = recent_.rbegin(); it != recent_.rend(); ++it) {
      if (RequestIdOf(*it) == request_id) return *it;
    }
    // Everything the session ever decided is in memory.
    if (recent_.size() < kDecisionsInMemory) return std::nullopt;
  }
  absl::StatusOr<std::optional<Decision>> found =
      environment_->store->FindDecisionByRequest(uid, request_id);
  if (!found.ok()) {
    return CouldNotReadJournal(*environment_, found.status());
  }
  return found;
}

absl::StatusOr<Decision> Session::FindByStep(const SessionState& state,
                                             std::int64_t step) const {
  {
    MutexLock lock(&mutex_);
    // Steps are consecutive, so a decision's place follows from its number.
    if (!recent_.empty() && step >= recent_.front().step) {
      const std::int64_t index = step - recent_.front().step;
      if (index < static_cast<std::int64_t>(recent_.size())) {
        return recent_[static_cast<std::size_t>(index)];
      }
    }
  }
  absl::StatusOr<std::optional<Decision>> found =
      environment_->store->FindDecision(state.uid, step);
  if (!found.ok()) {
    return CouldNotReadJournal(*environment_, found.status());
  }
  if (!*found) {
    return MakeError(Reason::kStepForgotten,
                     absl::StrCat("the decision of step ", step,
                                  " is no longer kept; the "
                                  "session's next decision is step ",
                                  state.step),
                     {{"step", absl::StrCat(step)},
                      {"expected_step", absl::StrCat(state.step)}});
  }
  return **std::move(found);
}

}  // namespace lossscaler::server
