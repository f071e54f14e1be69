// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The calls of WorkerLink that wait.

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/worker_errors.h"
#include "lossscaler/client/internal/worker_link.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// A waiting call looks at the clock this often, whatever happens.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

bool IsFinal(const PendingVote& vote) {
  return vote.answer && (!vote.answer->ok() || !(*vote.answer)->apply());
}

// Nothing was recorded, and another worker may have loaded what this one has.
bool IsToBeAskedAgain(const PendingVote& vote) {
  return vote.heard &&
         ReasonOf(vote.answer->status()) == Reason::kCheckpointMismatch;
}

}  // namespace

absl::StatusOr<Decision> WorkerLink::Await(
    const std::shared_ptr<PendingVote>& vote) {
  MutexLock lock(&mutex_);
  Wait wait = StartWait("Update", vote.get());
  std::optional<absl::Time> stale_since;
  if (IsToBeAskedAgain(*vote)) {
    vote->heard = false;
    vote->answer.reset();
    vote->sent = false;
    votes_.Add(vote);
    Poke();
  }
  for (;;) {
    const absl::Time now = clock_->Now();
    // What is not applied needs no lease.
    if (IsFinal(*vote)) {
      vote->heard = true;
      return *vote->answer;
    }
    if (absl::Status ended = Ended(); !ended.ok()) return ended;
    if (!vote->answer) {
      if (absl::Status spent = BudgetSpent(wait, now); !spent.ok()) {
        return spent;
      }
    } else if (!lease_.StaleAt(now)) {
      vote->heard = true;
      return *vote->answer;
    } else {
      if (!stale_since) stale_since = now;
      if (now - *stale_since >= options_.unavailable_budget) {
        return ApplyWithheld(vote->step, worker_.worker, lease_.ttl());
      }
      // Asked for once; without a stream, the next one begins with it.
      if (heartbeats_.empty() && !renew_now_) {
        renew_now_ = true;
        Poke();
      }
    }
    Pause(&wait);
  }
}

bool WorkerLink::Heard(const PendingVote& vote) const {
  MutexLock lock(&mutex_);
  return vote.heard;
}

bool WorkerLink::Ready(const PendingVote& vote) const {
  MutexLock lock(&mutex_);
  if (!Ended().ok()) return true;
  if (!vote.answer || IsToBeAskedAgain(vote)) return false;
  return IsFinal(vote) || !lease_.StaleAt(clock_->Now());
}

bool WorkerLink::LeftNoVote(const PendingVote& vote) const {
  MutexLock lock(&mutex_);
  if (!vote.answer || vote.answer->ok()) return false;
  const std::optional<Reason> reason = ReasonOf(vote.answer->status());
  // The step has this worker's vote, is over, or is not open yet; or it may
  // still get this one.
  return reason != Reason::kVoteConflict && reason != Reason::kStepForgotten &&
         reason != Reason::kStepAhead &&
         reason != Reason::kCheckpointMismatch &&
         reason != Reason::kMalformedAnswer;
}

absl::StatusOr<Current> WorkerLink::AwaitOpen() {
  MutexLock lock(&mutex_);
  Wait wait = StartWait("BeginStep", nullptr);
  for (;;) {
    if (absl::Status ended = Ended(); !ended.ok()) return ended;
    if (MayVote()) return membership_.current;
    if (membership_.phase == GroupPhase::kCheckpointMismatch) {
      return WhyNotOpen();
    }
    if (absl::Status spent = BudgetSpent(wait, clock_->Now()); !spent.ok()) {
      return spent;
    }
    Pause(&wait);
  }
}

void WorkerLink::AwaitNews() {
  MutexLock lock(&mutex_);
  AwaitChange(kLongestWait);
}

absl::Status WorkerLink::Present(const Checkpoint& checkpoint) {
  MutexLock lock(&mutex_);
  // The link forgets it with the end of this call, however it ends.
  const auto presentation =
      std::make_shared<Presentation>(Presentation{.checkpoint = checkpoint});
  presentation_ = presentation;
  Poke();
  Wait wait = StartWait("Present", nullptr);
  for (;;) {
    if (presentation->answer) return *presentation->answer;
    if (presentation_.lock() != presentation) return PresentationReplaced();
    if (absl::Status ended = Ended(); !ended.ok()) return ended;
    if (absl::Status spent = BudgetSpent(wait, clock_->Now()); !spent.ok()) {
      return spent;
    }
    Pause(&wait);
  }
}

WorkerLink::Wait WorkerLink::StartWait(std::string_view method,
                                       const PendingVote* vote) const {
  const absl::Time now = clock_->Now();
  return {.method = method,
          .vote = vote,
          .start = now,
          .next_report = now + options_.wait_report_interval};
}

absl::Status WorkerLink::Ended() const {
  return closed_ ? WorkerHasLeft() : down_;
}

std::optional<WorkerLink::Outage> WorkerLink::OutageOf(const Wait& wait) const {
  std::optional<Outage> outage;
  if (wait.vote != nullptr && wait.vote->failing_since) {
    outage = {.since = *wait.vote->failing_since, .error = wait.vote->failure};
  }
  if (const std::optional<absl::Time> away = reconnect_.away_since()) {
    outage = {.since = outage ? std::min(outage->since, *away) : *away,
              .error = reconnect_.error()};
  }
  // What was before the call is not this call's waiting.
  if (outage) outage->since = std::max(outage->since, wait.start);
  return outage;
}

absl::Status WorkerLink::BudgetSpent(const Wait& wait, absl::Time now) const {
  const std::optional<Outage> outage = OutageOf(wait);
  if (!outage || now - outage->since < options_.unavailable_budget) {
    return absl::OkStatus();
  }
  return ServerStayedAway(options_.unavailable_budget, outage->error);
}

void WorkerLink::Pause(Wait* wait) {
  const absl::Time now = clock_->Now();
  if (options_.on_wait && now >= wait->next_report) {
    if (const std::optional<WaitReport> report = ReportOf(*wait, now)) {
      wait->next_report = now + options_.wait_report_interval;
      MutexUnlock unlock(&mutex_);
      options_.on_wait(*report);
      return;
    }
  }
  AwaitChange(kLongestWait);
}

std::optional<WaitReport> WorkerLink::ReportOf(const Wait& wait,
                                               absl::Time now) const {
  WaitReport report{.method = wait.method,
                    .waited = now - wait.start,
                    .budget_left = options_.unavailable_budget,
                    .last_error = absl::OkStatus()};
  if (const std::optional<Outage> outage = OutageOf(wait)) {
    report.waited = now - outage->since;
    report.budget_left = options_.unavailable_budget - report.waited;
    report.last_error = outage->error;
  } else if (wait.vote == nullptr) {
    report.last_error = WhyNotOpen();
  } else if (!wait.vote->sent) {
    report.last_error = wait.vote->failure;
  }
  if (report.last_error.ok()) return std::nullopt;
  return report;
}

absl::Status WorkerLink::WhyNotOpen() const {
  if (!membership_.closed.ok()) return membership_.closed;
  if (membership_.phase == GroupPhase::kCheckpointMismatch) {
    return MakeError(Reason::kCheckpointMismatch,
                     "the workers have loaded different checkpoints; load one "
                     "and present it, or leave");
  }
  if (MayVote()) return absl::OkStatus();
  const std::int64_t step = membership_.current.step;
  return MakeError(
      Reason::kNotActive,
      absl::StrCat("worker ", Quoted(worker_.worker),
                   " becomes active once step ", step, " is decided"),
      {{"worker", Quoted(worker_.worker)}, {"step", absl::StrCat(step)}});
}

}  // namespace lossscaler::internal
