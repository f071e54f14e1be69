// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "fault/steady_clients.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/client/client.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"
#include "testing/poll_until.h"

namespace lossscaler::testing {
namespace {

constexpr const char* kNames[] = {"solo", "first worker", "second worker"};

// Grows by no step of a test.
LossScaler SteadyScaler() { return *LossScaler::Dynamic(1024, 2, 1'000'000); }

UnscaleVerdict OneFiniteGradient() {
  UnscaleVerdict verdict;
  verdict.element_count = 1;
  return verdict;
}

}  // namespace

SteadyClients::SteadyClients(const std::string& address) : address_(address) {
  threads_.emplace_back([this] { TrainSolo(); });
  threads_.emplace_back([this] { TrainInGroup(kFirstWorker); });
  threads_.emplace_back([this] { TrainInGroup(kSecondWorker); });
  Train(1);
  settled_ = true;
}

SteadyClients::~SteadyClients() { Stop(); }

ClientOptions SteadyClients::Options(Who who) {
  ClientOptions options;
  options.address = address_;
  options.unavailable_budget = absl::Seconds(20);
  options.on_wait = [this, who](const WaitReport& report) {
    Notice(who, absl::StrCat("waits in ", std::string(report.method), ": ",
                             report.last_error.ToString()));
  };
  return options;
}

void SteadyClients::Notice(Who who, const std::string& what) {
  MutexLock lock(&mutex_);
  noticed_.push_back(absl::StrCat(kNames[who], " ", what));
}

bool SteadyClients::Train(int decisions) {
  return Await(kSoloTrainer, decisions) && Await(kFirstWorker, decisions) &&
         Await(kSecondWorker, decisions);
}

bool SteadyClients::Await(Who who, int decisions) {
  const std::atomic<int>& made = decisions_[who];
  for (const int wanted = made + decisions; made < wanted;) {
    const int before = made;
    if (!PollUntil(std::chrono::seconds(30), [&] { return made != before; })) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> SteadyClients::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  MutexLock lock(&mutex_);
  return noticed_;
}

void SteadyClients::TrainSolo() {
  Client client(Options(kSoloTrainer));
  absl::StatusOr<Session> session = client.OpenSession(kSolo, SteadyScaler());
  if (!session.ok()) return Notice(kSoloTrainer, session.status().ToString());
  while (!stopping_) {
    Step step = session->BeginStep();
    const absl::StatusOr<float> scaled = step.ScaleLoss(0.5F);
    if (!scaled.ok()) {
      return Notice(kSoloTrainer, scaled.status().ToString());
    }
    step.AddVerdict(OneFiniteGradient());
    const absl::StatusOr<Decision> decision = step.Update();
    if (!decision.ok()) {
      return Notice(kSoloTrainer, decision.status().ToString());
    }
    if (*scaled != 512 || decision->outcome != Outcome::kApply) {
      Notice(kSoloTrainer,
             absl::StrCat("got another answer at step ", decision->step));
    }
    ++decisions_[kSoloTrainer];
  }
}

void SteadyClients::TrainInGroup(Who who) {
  const std::shared_ptr<Connection> connection = MakeConnection(Options(who));
  Client client(connection);
  GroupConfig group;
  group.min_workers = group.max_workers = 2;
  const absl::StatusOr<SessionInfo> opened =
      client.OpenGroup(kGroup, SteadyScaler(), group);
  if (!opened.ok()) return Notice(who, opened.status().ToString());
  WorkerOptions options;
  options.worker = who == kFirstWorker ? "rank-0" : "rank-1";
  options.unavailable_budget = absl::Seconds(20);
  options.on_wait = [this, who](const WaitReport& report) {
    if (settled_) Notice(who, "waits: " + report.last_error.ToString());
  };
  absl::StatusOr<WorkerSession> session =
      WorkerSession::Join(connection, kGroup, options);
  if (!session.ok()) return Notice(who, session.status().ToString());
  // A skip, which the first worker asks for at the end, ends both.
  for (bool last = false; !last;) {
    absl::StatusOr<WorkerStep> step = session->BeginStep();
    if (!step.ok()) return Notice(who, step.status().ToString());
    const bool ends = stopping_ && who == kFirstWorker;
    step->AddVerdict(OneFiniteGradient());
    absl::StatusOr<StepResult> result = ends ? step->Skip() : step->Update();
    if (!result.ok()) return Notice(who, result.status().ToString());
    last = result->decision().outcome != Outcome::kApply;
    if (last && !stopping_) {
      Notice(who, absl::StrCat("was told at step ", result->decision().step,
                               ": ", result->decision().explanation));
    }
    if (std::optional<ApplyPermit> permit = result->TakePermit()) {
      permit->Done();
    }
    ++decisions_[who];
  }
}

}  // namespace lossscaler::testing
