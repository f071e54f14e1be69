// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A session's turns: what is taken when, written, and answered.

#include <algorithm>
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
#include "lossscaler/core/pass_over_lost.h"
#include "sessions/session.h"

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

absl::Status VotesForgotten(const Session::Environment& environment) {
  return MakeRetryableError(
      Reason::kStoreUnavailable,
      "whether a change was written was not known, and the session was read "
      "again; the votes on its open step are forgotten, vote again",
      environment.retry_delay);
}

// Late by more than this, something that was due shows that the process stood
// still (stopped, swapped out, its machine suspended).
constexpr absl::Duration kStandstill = absl::Seconds(1);
// A write that takes longer keeps events waiting noticeably.
constexpr absl::Duration kLongWrite = absl::Milliseconds(100);

State StateOf(StoredSession stored) {
  if (stored.loss != 0) PassOverLost(&stored.state, stored.loss);
  return std::make_shared<SessionState>(std::move(stored.state));
}

}  // namespace

Session::Session(std::string name, const Environment* environment)
    : name_(std::move(name)),
      environment_(environment),
      log_(environment->store, environment->retry_delay),
      busy_(true),
      creating_(true) {}

Session::Session(StoredSession stored, const Environment* environment)
    : name_(stored.state.name),
      environment_(environment),
      log_(environment->store, environment->retry_delay),
      state_(StateOf(stored)) {
  log_.Assign(stored.recent);
  FollowState();
}

void Session::Enqueue(Event event) {
  {
    MutexLock lock(&mutex_);
    events_.push_back(std::move(event));
  }
  Pump();
}

CallId Session::NewCall() {
  MutexLock lock(&mutex_);
  return ++last_call_;
}

void Session::OnAlarm() {
  const auto rung = [this] { alarm_ = absl::InfiniteFuture(); };
  // What is due is done before any event, this one included.
  Enqueue({.react =
               [rung](const State&) {
                 rung();
                 return Reaction{};
               },
           .fail = [rung](const absl::Status&) { rung(); },
           .needs_no_store = true});
}

void Session::Pump() {
  // An answer may drop the last reference of a deleted session.
  const std::shared_ptr<Session> self = shared_from_this();
  while (TakeTurn()) {
  }
}

bool Session::TakeTurn() {
  {
    MutexLock lock(&mutex_);
    if (busy_ || (events_.empty() && !due_unchecked_)) return false;
    busy_ = true;
  }
  const std::optional<Event> event = NextEvent();
  if (!event) {
    SetAlarm();
    SetIdle();
    return true;
  }
  Reaction reaction = event->react(state());
  if (reaction.write) {
    Commit(std::move(reaction), event->fail);
    MutexLock lock(&mutex_);
    if (committing_ == std::this_thread::get_id()) committing_ = {};
    return !busy_;
  }
  if (reaction.answer) reaction.answer();
  SetIdle();
  return true;
}

void Session::SetTime() {
  const absl::Time now = environment_->monotonic();
  group_->SetTime({.monotonic = now, .wall = environment_->now()});
  // What came meanwhile is still to be read, first of all signs of life. A
  // process that stands still all the time does not keep the dead alive.
  const absl::Duration late = now - std::max(alarm_, last_turn_);
  if (late > kStandstill && now - last_standstill_ > group_->lease_ttl()) {
    group_->Postpone(late + kStandstill);
    last_standstill_ = now;
  }
  last_turn_ = now;
}

std::optional<Event> Session::NextEvent() {
  const absl::Status sure = ReloadIfUnsure();
  if (group_ != nullptr) {
    SetTime();
    if (!sure.ok()) {
      group_->Dismiss(sure);
    } else if (due_error_.ok()) {
      if (std::optional<Event> due = group_->TakeDue()) {
        due->fail = [this, fail = due->fail](const absl::Status& error) {
          due_error_ = error;
          fail(error);
        };
        return due;
      }
    }
    if (sure.ok()) group_->GiveAnswers();
  }
  while (true) {
    Event event;
    {
      MutexLock lock(&mutex_);
      due_unchecked_ = !events_.empty() && group_ != nullptr;
      if (events_.empty()) return std::nullopt;
      event = std::move(events_.front());
      events_.pop_front();
    }
    if (!sure.ok()) {
      event.fail(sure);
    } else if (!due_error_.ok() && !event.needs_no_store) {
      event.fail(due_error_);
    } else {
      return event;
    }
  }
}

void Session::Commit(Reaction reaction,
                     std::function<void(const absl::Status&)> fail) {
  {
    MutexLock lock(&mutex_);
    committing_ = std::this_thread::get_id();
  }
  if (group_ != nullptr) write_begin_ = environment_->monotonic();
  Write copy = *reaction.write;
  environment_->store->Commit(
      std::move(copy), [self = shared_from_this(),
                        written = Written{.write = *std::move(reaction.write),
                                          .before = state(),
                                          .cause = reaction.cause,
                                          .answer = std::move(reaction.answer),
                                          .fail = std::move(fail)}](
                           WriteResult result, const absl::Status& status) {
        self->OnWritten(written, result, status);
      });
}

void Session::OnWritten(const Written& written, WriteResult result,
                        const absl::Status& status) {
  if (group_ != nullptr) {
    last_turn_ = environment_->monotonic();
    const absl::Duration took = last_turn_ - write_begin_;
    if (took > kLongWrite) group_->Postpone(took);
    SetTime();
  }
  absl::Status outcome;
  if (result == WriteResult::kUnknown) {
    {
      MutexLock lock(&mutex_);
      unsure_uid_ = written.write.state.uid;
    }
    outcome = ReloadIfUnsure(/*keep_group=*/true);
    if (!outcome.ok()) {
      unobserved_ = written;
    } else if (!Stands(written.write)) {
      outcome = CouldNotWrite(*environment_, status);
    }
  } else if (result == WriteResult::kNotDone) {
    outcome = CouldNotWrite(*environment_, status);
  }
  {
    MutexLock lock(&mutex_);
    if (result == WriteResult::kDone) Install(written.write);
    creating_ = false;
  }
  FollowState();
  if (outcome.ok()) {
    Observe(written);
    written.answer();
  } else {
    written.fail(outcome);
  }
  WakeWatchers();
  bool pump = false;
  {
    MutexLock lock(&mutex_);
    busy_ = false;
    pump = committing_ != std::this_thread::get_id();
  }
  if (pump) Pump();
}

void Session::Observe(const Written& written) const {
  if (environment_->observers.empty()) return;
  const Write& write = written.write;
  SessionChange change{.cause = written.cause,
                       .before = written.before.get(),
                       .after = write.deletion ? nullptr : &write.state,
                       .decision = write.decision ? &*write.decision : nullptr};
  change.workers = WorkerChangesOf(change.cause, change.before, change.after,
                                   change.decision);
  for (SessionObserver* const observer : environment_->observers) {
    observer->OnChange(change);
  }
}

absl::Status Session::Reread() {
  {
    MutexLock lock(&mutex_);
    if (busy_ || unsure_uid_.empty()) return absl::OkStatus();
    busy_ = true;
  }
  const absl::Status status = ReloadIfUnsure();
  {
    MutexLock lock(&mutex_);
    // Something may be due by now.
    if (status.ok() && group_ != nullptr) due_unchecked_ = true;
    busy_ = false;
  }
  Pump();
  return status;
}

void Session::SetIdle() {
  MutexLock lock(&mutex_);
  busy_ = false;
}

void Session::SetAlarm() {
  if (group_ == nullptr) return;
  bool retry = !std::exchange(due_error_, absl::OkStatus()).ok();
  {
    MutexLock lock(&mutex_);
    retry = retry || !unsure_uid_.empty();
  }
  const absl::Time due =
      retry ? environment_->monotonic() + environment_->retry_delay
            : group_->NextDue();
  // An alarm that rings too early does no harm, and setting it costs more than
  // that: leases are renewed all the time.
  const bool later = due > alarm_ && due != absl::InfiniteFuture();
  if (later || due == alarm_) return;
  alarm_ = due;
  environment_->alarm->Set(shared_from_this(), due);
}

absl::Status Session::ReloadIfUnsure(bool keep_group) {
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
  const State read = *stored ? StateOf(**stored) : nullptr;
  {
    MutexLock lock(&mutex_);
    unsure_uid_.clear();
    if (read == nullptr || state_ == nullptr || state_->step != read->step) {
      ledgers_.clear();
    }
    log_.Assign(*stored ? (*stored)->recent : std::vector<Decision>());
    state_ = read;
  }
  if (const auto unobserved = std::exchange(unobserved_, std::nullopt);
      unobserved && Stands(unobserved->write)) {
    Observe(*unobserved);
  }
  if (keep_group) return absl::OkStatus();
  if (group_ != nullptr && read != nullptr) {
    group_->Reset(*read, VotesForgotten(*environment_));
  }
  FollowState();
  WakeWatchers();
  return absl::OkStatus();
}

bool Session::Stands(const Write& write) const {
  MutexLock lock(&mutex_);
  if (write.deletion) return state_ == nullptr;
  return state_ != nullptr && state_->revision == write.state.revision;
}

void Session::Install(const Write& write) {
  if (write.deletion) {
    state_ = nullptr;
    log_.Assign({});
    ledgers_.clear();
    return;
  }
  state_ = std::make_shared<SessionState>(write.state);
  if (!write.decision) return;
  log_.Append(*write.decision);
  ledgers_.clear();
}

void Session::FollowState() {
  State now;
  absl::Status drained;
  {
    MutexLock lock(&mutex_);
    now = state_;
    drained = drained_;
  }
  if (now == nullptr) {
    if (group_ != nullptr) group_->Close(SessionNotFound(name_));
    return;
  }
  if (group_ != nullptr || !now->group) return;
  last_turn_ = environment_->monotonic();
  group_ = std::make_unique<GroupEvents>(
      *now, &log_,
      Moment{.monotonic = last_turn_, .wall = environment_->now()});
  if (!drained.ok()) group_->Close(drained);
}

}  // namespace lossscaler::server
