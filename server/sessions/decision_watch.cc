// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Watching a session's decisions.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/solo.h"
#include "sessions/session.h"

namespace lossscaler::server {
namespace {

absl::Status Cancelled() {
  return absl::CancelledError("the watch was given up by its caller");
}

}  // namespace

DecisionWatch::DecisionWatch(std::shared_ptr<Session> session, CallId call,
                             std::int64_t first)
    : session_(std::move(session)),
      call_(call),
      next_(std::make_shared<std::int64_t>(first)) {}

DecisionWatch::~DecisionWatch() { Cancel(); }

void DecisionWatch::Next(Done<Decision> done) {
  session_->AwaitDecision(
      call_, *next_,
      [next = next_, done = std::move(done)](absl::StatusOr<Decision> answer) {
        if (answer.ok()) *next = answer->step + 1;
        done(std::move(answer));
      });
  if (cancelled_) session_->CancelWatch(call_);
}

void DecisionWatch::Cancel() {
  cancelled_ = true;
  session_->CancelWatch(call_);
}

absl::StatusOr<std::unique_ptr<DecisionWatch>> Session::Watch(
    std::int64_t from_step) {
  const State now = state();
  if (now == nullptr) return SessionNotFound(name_);
  if (from_step < 0 || from_step > now->step) return CheckStep(*now, from_step);
  if (from_step == 0) from_step = now->step;
  if (from_step == 1) {
    const absl::StatusOr<std::int64_t> first = log_.FirstKept(*now);
    if (!first.ok()) return first.status();
    from_step = *first;
  }
  return std::make_unique<DecisionWatch>(shared_from_this(), NewCall(),
                                         from_step);
}

absl::Status Session::WatchEnd() const {
  if (!drained_.ok()) return drained_;
  if (state_ == nullptr && !creating_ && unsure_uid_.empty()) {
    return SessionNotFound(name_);
  }
  return absl::OkStatus();
}

void Session::AwaitDecision(CallId call, std::int64_t step,
                            Done<Decision> done) {
  while (true) {
    State now;
    absl::Status end;
    {
      MutexLock lock(&mutex_);
      now = state_;
      end = WatchEnd();
      const bool decided = now != nullptr && step < now->step;
      if (end.ok() && !decided) {
        watchers_[call] = {.step = step, .done = std::move(done)};
        return;
      }
    }
    if (!end.ok()) return done(end);
    absl::StatusOr<std::optional<Decision>> next = log_.FindNext(*now, step);
    if (!next.ok()) return done(next.status());
    if (*next) return done(**std::move(next));
    step = now->step;
  }
}

void Session::CancelWatch(CallId call) {
  Done<Decision> done;
  {
    MutexLock lock(&mutex_);
    const auto watcher = watchers_.extract(call);
    if (!watcher) return;
    done = std::move(watcher.mapped().done);
  }
  done(Cancelled());
}

void Session::WakeWatchers() {
  State now;
  absl::Status end;
  std::vector<Watcher> woken;
  {
    MutexLock lock(&mutex_);
    now = state_;
    end = WatchEnd();
    for (auto it = watchers_.begin(); it != watchers_.end();) {
      const bool decided = now != nullptr && it->second.step < now->step;
      if (end.ok() && !decided) {
        ++it;
      } else {
        woken.push_back(std::move(it->second));
        it = watchers_.erase(it);
      }
    }
  }
  for (const Watcher& watcher : woken) {
    if (!end.ok()) {
      watcher.done(end);
    } else {
      watcher.done(log_.FindStep(*now, watcher.step));
    }
  }
}

}  // namespace lossscaler::server
