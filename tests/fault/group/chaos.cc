// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/group/chaos.h"

#include <signal.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "fault/group/simulated_trainer.h"

namespace lossscaler::testing {
namespace {

// How often the loop looks around.
constexpr absl::Duration kTurn = absl::Milliseconds(20);
// Between two events, on average: long enough for some steps.
constexpr absl::Duration kPace = absl::Milliseconds(700);
constexpr absl::Duration kRecovery = absl::Minutes(2);

}  // namespace

Chaos::Chaos(GroupJob* job, std::uint64_t seed, std::ostream* log)
    : job_(job), log_(log), start_(absl::Now()), random_(seed) {}

const std::vector<Chaos::Kind>& Chaos::Kinds() {
  static const std::vector<Kind> kinds = {
      {"worker killed", 6, &Chaos::KillWorker},
      {"worker ended", 2, &Chaos::EndWorker},
      {"worker frozen within its lease", 4, &Chaos::FreezeBriefly},
      {"worker frozen beyond its lease", 2, &Chaos::FreezeBeyondLease},
      {"server killed", 3, &Chaos::KillServer},
      {"server killed at a failpoint", 4, &Chaos::ArmFailpoint},
      {"server ended", 2, &Chaos::EndServer},
      {"connections reset", 5, &Chaos::ResetConnections},
      {"network slow", 3, &Chaos::SlowDown},
      {"answers lost", 3, &Chaos::LoseAnswers},
      {"requests lost", 3, &Chaos::LoseRequests},
      {"job started again", 2, &Chaos::StartAttempt},
      {"session restored", 2, &Chaos::RestoreSession},
  };
  return kinds;
}

void Chaos::Run(absl::Duration duration, const volatile int& stop) {
  const int weights = std::accumulate(
      Kinds().begin(), Kinds().end(), 0,
      [](int sum, const Kind& kind) { return sum + kind.weight; });
  absl::Time next = absl::Now() + kPace;
  while (stop == 0 && absl::Now() < start_ + duration) {
    CatchUp();
    Revive();
    if (absl::Now() >= next) {
      int draw = Below(weights);
      for (const Kind& kind : Kinds()) {
        if ((draw -= kind.weight) >= 0) continue;
        Note(kind.name);
        (this->*kind.act)();
        break;
      }
      next = absl::Now() + Between(absl::ZeroDuration(), 2 * kPace);
    }
    absl::SleepFor(kTurn);
  }
}

void Chaos::AwaitRecovery(std::int64_t steps) {
  *log_ << "recovery\n";
  for (auto& [due, act] : std::exchange(later_, {})) act();
  failpoint_.clear();
  if (may_die_) job_->KillServer();
  const absl::Time deadline = absl::Now() + kRecovery;
  std::optional<std::int64_t> goal;
  for (;;) {
    Revive();
    const absl::StatusOr<SessionInfo> session = job_->Session();
    if (session.ok() && !goal) goal = session->applied + steps;
    if (session.ok() && session->applied >= *goal) return;
    if (absl::Now() > deadline) break;
    absl::SleepFor(kTurn);
  }
  failures_.push_back(absl::StrCat(
      "the job has not applied ", steps, " steps in ",
      absl::FormatDuration(kRecovery), " after the last disturbance"));
}

int Chaos::Below(int limit) {
  // std::uniform_int_distribution is not the same everywhere.
  return static_cast<int>(random_() % static_cast<std::uint64_t>(limit));
}

absl::Duration Chaos::Between(absl::Duration low, absl::Duration high) {
  return low + (high - low) * Below(1000) / 1000;
}

void Chaos::Note(std::string_view event) {
  ++events_[std::string(event)];
  *log_ << absl::ToInt64Milliseconds(absl::Now() - start_) << " ms " << event
        << "\n";
}

void Chaos::Later(absl::Duration delay, std::function<void()> act) {
  later_.emplace(absl::Now() + delay, std::move(act));
}

void Chaos::CatchUp() {
  while (!later_.empty() && later_.begin()->first <= absl::Now()) {
    const std::function<void()> act = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    act();
  }
}

void Chaos::Revive() {
  ReviveServer();
  ReviveWorkers();
}

void Chaos::ReviveServer() {
  if (!job_->server().HasEnded()) return;
  const int exit = *job_->server().exit();
  if (exit != 0 && exit != 128 + SIGKILL) {
    failures_.push_back(
        absl::StrCat("a server ended with ", exit, ": ", job_->server().Err()));
  }
  may_die_ = !failpoint_.empty();
  if (!job_->StartServer(std::exchange(failpoint_, ""))) {
    failures_.push_back(
        absl::StrCat("a server does not start: ", job_->server().Err()));
  }
}

void Chaos::ReviveWorkers() {
  for (int rank = 0; rank < job_->workers(); ++rank) {
    SpawnedProcess& worker = job_->worker(rank);
    if (!worker.HasEnded()) continue;
    switch (const int exit = *worker.exit(); exit) {
      case static_cast<int>(TrainerEnd::kNeedsAttempt):
        Note("job started again for want of a model");
        job_->StartAttempt();
        return;
      case static_cast<int>(TrainerEnd::kLeft):
      case 128 + SIGKILL:
      // It was asked to leave before it could listen.
      case 128 + SIGTERM:
        job_->StartWorker(rank, Below(2) == 0
                                    ? std::vector<std::string>{"--resume"}
                                    : std::vector<std::string>{});
        break;
      default:
        failures_.push_back(absl::StrCat(GroupJob::NameOf(rank), " ended with ",
                                         exit, ": ", worker.Err()));
        job_->StartWorker(rank);
    }
  }
}

void Chaos::KillWorker() { job_->worker(AnyRank()).Signal(SIGKILL); }

void Chaos::EndWorker() { job_->worker(AnyRank()).Signal(SIGTERM); }

void Chaos::FreezeBriefly() {
  Freeze(AnyRank(), Between(absl::Milliseconds(10), absl::Seconds(3)));
}

void Chaos::FreezeBeyondLease() {
  Freeze(AnyRank(), Between(absl::Seconds(6), absl::Seconds(9)));
}

void Chaos::Freeze(int rank, absl::Duration how_long) {
  job_->worker(rank).Signal(SIGSTOP);
  // Whoever has the rank by then: SIGCONT does nothing to a process that runs.
  Later(how_long, [this, rank] { job_->worker(rank).Signal(SIGCONT); });
}

void Chaos::KillServer() { job_->KillServer(); }

void Chaos::EndServer() {
  // One with a failpoint knows no orderly end.
  if (may_die_) {
    job_->KillServer();
    return;
  }
  job_->server().Signal(SIGTERM);
  if (!job_->server().Wait()) {
    failures_.emplace_back("a server does not end after SIGTERM");
    job_->KillServer();
  }
}

void Chaos::ArmFailpoint() {
  const absl::StatusOr<SessionInfo> session = job_->Session();
  if (!session.ok()) return;
  failpoint_ = absl::StrCat(Below(2) == 0 ? "before_step:" : "after_step:",
                            session->current.step + 1 + Below(20));
  job_->KillServer();
}

void Chaos::ResetConnections() { job_->proxy().Reset(); }

void Chaos::SlowDown() {
  job_->proxy().set_delay(
      Between(absl::Milliseconds(1), absl::Milliseconds(60)));
  Later(Between(absl::Milliseconds(100), absl::Seconds(3)),
        [this] { job_->proxy().set_delay(absl::ZeroDuration()); });
}

void Chaos::LoseAnswers() {
  job_->proxy().DropAnswers(true);
  Later(Between(absl::Milliseconds(10), absl::Seconds(2)),
        [this] { job_->proxy().DropAnswers(false); });
}

void Chaos::LoseRequests() {
  job_->proxy().DropRequests(true);
  Later(Between(absl::Milliseconds(10), absl::Seconds(2)),
        [this] { job_->proxy().DropRequests(false); });
}

void Chaos::StartAttempt() { job_->StartAttempt(); }

void Chaos::RestoreSession() {
  // The call would wait for a server that this thread has to start.
  if (may_die_) return;
  const absl::StatusOr<LossScaler> scaler =
      LossScaler::Dynamic(std::exp2(8 + Below(12)), 2, 20);
  const absl::Status status =
      job_->Restore(*scaler, absl::StrCat("restore-", ++restores_));
  if (!status.ok()) failures_.push_back(status.ToString());
}

}  // namespace lossscaler::testing
