// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Workers with their threads, against the coordinator in memory. What thread
// sanitizer watches.

#include "lossscaler/client/worker_session.h"

#include <algorithm>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "testing/worker_server.h"
#include "unit/client_pump/worker_fixture.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::WorkerServer;

constexpr float kInf = std::numeric_limits<float>::infinity();

using WorkerSessionTest = WorkerTest;

TEST_F(WorkerSessionTest, WhoDoesNotApplyWhatAppliesIsOutOfSync) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  {
    absl::StatusOr<WorkerStep> step = worker.BeginStep();
    ASSERT_THAT(step, IsOk());
    step->AddVerdict({.element_count = 1});
    ASSERT_THAT(step->Update(), IsOk());
  }
  int applied = 0;
  EXPECT_THAT(Train(worker, {1.0F}, &applied), IsError(Reason::kResync));
  EXPECT_EQ(applied, 0);
  // It gets the parameters of a peer, and says so.
  worker.set_base({.session_uid = uid(), .step = 1});
  EXPECT_THAT(Train(worker, {1.0F}, &applied), IsOk());
  EXPECT_EQ(applied, 1);
}

TEST_F(WorkerSessionTest, IterationsGoOnAfterTheFurthestWorker) {
  StartServer(GroupOf(2));
  WorkerSession w0 = Join({.worker = "w0"});
  WorkerSession w1 = Join({.worker = "w1"});
  w0.set_iteration(10);
  w1.set_iteration(11);
  int applied = 0;
  std::thread peer([&] {
    const absl::StatusOr<StepResult> result = Train(w1, {1.0F}, &applied);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->decision().reason, DecisionReason::kIterationMismatch);
  });
  int applied_here = 0;
  EXPECT_THAT(Train(w0, {1.0F}, &applied_here), IsOk());
  peer.join();
  EXPECT_EQ(applied + applied_here, 0);
  EXPECT_EQ(w0.iteration(), 12);
  EXPECT_EQ(w1.iteration(), 12);
}

TEST_F(WorkerSessionTest, RejoinsAfterBeingFencedAndAsksAgain) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  absl::StatusOr<WorkerStep> step = worker.BeginStep();
  ASSERT_THAT(step, IsOk());
  step->AddVerdict({.element_count = 1});
  const WorkerRef member = worker.worker();
  server_->With(
      [&](GroupDriver& driver) { EXPECT_THAT(driver.Leave(member), IsOk()); });
  EXPECT_THAT(step->Update(), IsError(Reason::kFenced));
  EXPECT_THAT(worker.Rejoin(), IsOk());
  // The step ended without any worker: it is not applied.
  const absl::StatusOr<StepResult> result = step->Update();
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->decision().outcome, Outcome::kAborted);
  int applied = 0;
  EXPECT_THAT(Train(worker, {1.0F}, &applied), IsOk());
  EXPECT_EQ(applied, 1);
}

TEST_F(WorkerSessionTest, AJobThatStartsAgainGoesOnFromItsCheckpoint) {
  StartServer(GroupOf(2));
  int applied[2] = {};
  std::string saved;
  {
    WorkerSession w0 = Join({.worker = "w0", .attempt = 1});
    WorkerSession w1 = Join({.worker = "w1", .attempt = 1});
    w0.set_iteration(0);
    w1.set_iteration(0);
    std::thread peer([&] {
      for (const float g : {1.0F, kInf, 1.0F}) {
        ASSERT_THAT(Train(w1, {g}, &applied[1]), IsOk());
      }
    });
    for (int i = 0; i < 2; ++i) {
      ASSERT_THAT(Train(w0, {1.0F}, &applied[0]), IsOk());
    }
    const absl::StatusOr<std::string> bytes = w0.Checkpoint();
    ASSERT_THAT(bytes, IsOk());
    saved = *bytes;
    ASSERT_THAT(Train(w0, {1.0F}, &applied[0]), IsOk());
    peer.join();
  }
  EXPECT_EQ(applied[0], 2);
  EXPECT_EQ(applied[1], 2);
  // One APPLY and one overflow: 65536 / 2, base 1.
  const absl::StatusOr<WorkerCheckpoint> read =
      WorkerCheckpointFromBytes(saved);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->checkpoint.scaler.scale(), 32768.0);
  EXPECT_EQ(read->checkpoint.base, (Base{.session_uid = uid(), .step = 1}));
  EXPECT_EQ(read->checkpoint.iteration, 2);
  EXPECT_EQ(read->attempt, 1);

  WorkerSession w0 = Join({.worker = "w0", .attempt = 2, .checkpoint = saved});
  WorkerSession w1 = Join({.worker = "w1", .attempt = 2, .checkpoint = saved});
  absl::StatusOr<WorkerStep> step = w0.BeginStep();
  ASSERT_THAT(step, IsOk());
  EXPECT_THAT(step->CheckInSync(), IsOk());
  EXPECT_EQ(step->scale(), 32768.0);
  EXPECT_EQ(step->iteration(), 2);
}

TEST_F(WorkerSessionTest, DifferentCheckpointsAreReportedAndMayBePresented) {
  StartServer(GroupOf(2));
  const LossScaler scaler = testing::GoldenScaler();
  const std::string two = ToBytes(
      {.checkpoint = {.scaler = scaler, .base = {"other", 2}}, .attempt = 1});
  const std::string three = ToBytes(
      {.checkpoint = {.scaler = scaler, .base = {"other", 3}}, .attempt = 1});
  WorkerSession w0 = Join({.worker = "w0", .checkpoint = two});
  WorkerSession w1 = Join({.worker = "w1", .checkpoint = three});
  EXPECT_THAT(w1.BeginStep(), IsError(Reason::kCheckpointMismatch));
  EXPECT_THAT(w1.Present(two), IsOk());
  EXPECT_THAT(w1.BeginStep(), IsOk());
  EXPECT_EQ(w1.base(), (Base{"other", 2}));
}

TEST_F(WorkerSessionTest, AnOldAttemptIsTurnedAway) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0", .attempt = 2});
  EXPECT_THAT(
      WorkerSession::Join(server_, "run", {.worker = "w0", .attempt = 1}),
      IsError(Reason::kStaleAttempt));
}

TEST_F(WorkerSessionTest, BeginStepWaitsForTheGroup) {
  StartServer(GroupOf(2));
  WorkerSession w0 = Join({.worker = "w0"});
  absl::Status begun;
  std::thread waiter([&] { begun = w0.BeginStep().status(); });
  WorkerSession w1 = Join({.worker = "w1"});
  waiter.join();
  EXPECT_THAT(begun, IsOk());
}

// What it waits for is told meanwhile.
TEST_F(WorkerSessionTest, LeaveEndsAWaitForThePausedGroup) {
  StartServer(GroupOf(2));
  std::promise<absl::Status> told;
  bool first = true;
  WorkerSession w0 = Join({.worker = "w0",
                           .on_wait =
                               [&](const WaitReport& report) {
                                 if (!std::exchange(first, false)) return;
                                 told.set_value(report.last_error);
                               },
                           .wait_report_interval = absl::Milliseconds(1)});
  absl::Status begun;
  std::thread waiter([&] { begun = w0.BeginStep().status(); });
  EXPECT_THAT(told.get_future().get(), IsError(Reason::kSessionPaused));
  EXPECT_THAT(w0.Leave(), IsOk());
  waiter.join();
  EXPECT_EQ(begun.code(), absl::StatusCode::kCancelled);
}

TEST_F(WorkerSessionTest, AStepThatAnotherEndedEarlyIsGoneThroughAllTheSame) {
  StartServer(GroupOf(2));
  WorkerSession w0 = Join({.worker = "w0"});
  WorkerSession w1 = Join({.worker = "w1"});
  int applied = 0;
  // Steps 1 and 2 are skipped before w1 has begun the first.
  for (int i = 0; i < 2; ++i) ASSERT_THAT(Train(w0, {kInf}, &applied), IsOk());
  for (std::int64_t number : {1, 2}) {
    absl::StatusOr<WorkerStep> step = w1.BeginStep();
    ASSERT_THAT(step, IsOk());
    EXPECT_EQ(step->number(), number);
    EXPECT_EQ(step->scale(), number == 1 ? 65536.0 : 32768.0);
    step->AddVerdict({.element_count = 1});
    const absl::StatusOr<StepResult> result = step->Update();
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->decision().outcome, Outcome::kSkipOverflow);
  }
}

// A group's server that is asked to let a worker go when it cannot.
class AbsentServer : public WorkerServer {
 public:
  using WorkerServer::WorkerServer;
  absl::Status LeaveSessionWithin(const SessionRef&, const WorkerRef&,
                                  absl::Duration budget) override {
    budget_ = budget;
    waiter_ended_.get_future().wait();
    return absl::UnavailableError("away");
  }
  void WaiterEnded() { waiter_ended_.set_value(); }
  absl::Duration budget() const { return budget_; }

 private:
  absl::Duration budget_;
  std::promise<void> waiter_ended_;
};

TEST_F(WorkerSessionTest, LeaveEndsTheWaitsFirstAndAsksForOneLeaseAtMost) {
  const auto server = std::make_shared<AbsentServer>(GroupOf(2));
  server_ = server;
  dispatcher_.emplace(server_.get());
  WorkerSession w0 = Join({.worker = "w0"});
  std::thread waiter([&] {
    EXPECT_EQ(w0.BeginStep().status().code(), absl::StatusCode::kCancelled);
    server->WaiterEnded();
  });
  EXPECT_EQ(w0.Leave().code(), absl::StatusCode::kUnavailable);
  waiter.join();
  EXPECT_EQ(server->budget(), absl::Seconds(30));
}

TEST_F(WorkerSessionTest, WhoIsReplacedIsTurnedAwayForGood) {
  StartServer(GroupOf(1));
  WorkerSession former = Join({.worker = "w0"});
  WorkerSession successor =
      Join({.worker = "w0", .resume_token = former.resume_token()});
  absl::Status fenced;
  for (;;) {
    fenced = former.BeginStep().status();
    if (!fenced.ok()) break;
  }
  EXPECT_THAT(fenced, IsError(Reason::kFenced));
  EXPECT_THAT(former.Rejoin(),
              IsErrorSaying(Reason::kWorkerHeld, "end this one"));
  int applied = 0;
  EXPECT_THAT(Train(successor, {1.0F}, &applied), IsOk());
}

TEST_F(WorkerSessionTest, WhoAbstainsGoesOnWithTheOthersIterations) {
  StartServer(GroupOf(2));
  WorkerSession w0 = Join({.worker = "w0"});
  WorkerSession w1 = Join({.worker = "w1"});
  w0.set_iteration(10);
  w1.set_iteration(10);
  int applied = 0;
  std::thread peer([&] {
    {
      absl::StatusOr<WorkerStep> step = w1.BeginStep();
      ASSERT_THAT(step, IsOk());
      absl::StatusOr<StepResult> result = step->Abstain();
      ASSERT_THAT(result, IsOk());
      std::optional<ApplyPermit> permit = result->TakePermit();
      ASSERT_TRUE(permit.has_value());
      permit->Done();
    }
    EXPECT_EQ(w1.iteration(), 11);
    EXPECT_THAT(Train(w1, {1.0F}, &applied), IsOk());
  });
  int applied_here = 0;
  EXPECT_THAT(Train(w0, {1.0F}, &applied_here), IsOk());
  EXPECT_THAT(Train(w0, {1.0F}, &applied_here), IsOk());
  peer.join();
  EXPECT_EQ(applied, 1);
  EXPECT_EQ(applied_here, 2);
}

TEST_F(WorkerSessionTest, NoScalerOfStepsAheadIsSaved) {
  StartServer(GroupOf(2));
  WorkerSession w0 = Join({.worker = "w0"});
  WorkerSession w1 = Join({.worker = "w1"});
  int applied = 0;
  for (int i = 0; i < 2; ++i) ASSERT_THAT(Train(w0, {kInf}, &applied), IsOk());
  // The session is at step 3, the worker at step 1.
  EXPECT_EQ(w1.Checkpoint().status().code(), absl::StatusCode::kUnavailable);
  ASSERT_THAT(Train(w1, {1.0F}, &applied), IsOk());
  EXPECT_EQ(w1.Checkpoint().status().code(), absl::StatusCode::kUnavailable);
  ASSERT_THAT(Train(w1, {1.0F}, &applied), IsOk());
  const absl::StatusOr<std::string> saved = w1.Checkpoint();
  ASSERT_THAT(saved, IsOk());
  EXPECT_EQ(saved, w0.Checkpoint());
  const absl::StatusOr<WorkerCheckpoint> read =
      WorkerCheckpointFromBytes(*saved);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->checkpoint.scaler.scale(), 65536.0 / 4);
}

TEST_F(WorkerSessionTest, WhatWasLoadedIsSavedUntilTheFirstStep) {
  StartServer(GroupOf(2));
  LossScaler scaler = testing::GoldenScaler();
  scaler.Update(/*overflow=*/true);
  const std::string loaded = ToBytes(
      {.checkpoint = {.scaler = scaler, .base = {"other", 2}, .iteration = 7},
       .attempt = 1});
  WorkerSession w0 = Join({.worker = "w0", .checkpoint = loaded});
  EXPECT_THAT(w0.Checkpoint(), testing::IsOkAndHolds(loaded));
}

TEST_F(WorkerSessionTest, ACheckpointIsNoStartFromTheBeginning) {
  StartServer(GroupOf(1));
  const std::string saved =
      ToBytes({.checkpoint = {.scaler = testing::GoldenScaler()}});
  EXPECT_THAT(
      WorkerSession::Join(
          server_, "run",
          {.worker = "w0", .checkpoint = saved, .from_the_start = true}),
      IsError(Reason::kInvalidField));
}

// Four workers, and a server that is cut off, restarted and hears overflows:
// every worker sees the same decisions.
TEST_F(WorkerSessionTest, EveryWorkerSeesTheSameDecisionsWhateverBreaks) {
  constexpr int kWorkers = 4;
  constexpr int kSteps = 40;
  StartServer(GroupOf(kWorkers));
  std::vector<std::vector<Decision>> seen(kWorkers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&, i] {
      WorkerSession worker = Join({.worker = "w" + std::to_string(i)});
      int applied = 0;
      for (int step = 0; step < kSteps; ++step) {
        // Whatever the other thread comes to: in the middle it does break.
        if (i == 0 && step == kSteps / 2) server_->Restart();
        const bool bad = step % 7 == i;
        const absl::StatusOr<StepResult> result =
            Train(worker, {bad ? kInf : 1.0F}, &applied);
        ASSERT_THAT(result, IsOk());
        seen[i].push_back(result->decision());
      }
      EXPECT_EQ(applied, std::count_if(seen[i].begin(), seen[i].end(),
                                       [](const Decision& decision) {
                                         return decision.apply();
                                       }));
    });
  }
  const auto open_step = [&] { return server_->GetSession({})->current.step; };
  std::jthread chaos([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::int64_t step = open_step();
      if (step % 3 == 0) server_->Cut(absl::UnavailableError("cut"));
      if (step % 5 == 0) server_->Restart();
      while (!stop.stop_requested() && step == open_step()) {
        std::this_thread::yield();
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  chaos.request_stop();
  EXPECT_GT(server_->streams(), kWorkers);
  for (int i = 1; i < kWorkers; ++i) EXPECT_EQ(seen[i], seen[0]);
}

TEST(WorkerCheckpointTest, EqualBasesHaveEqualBytes) {
  const LossScaler scaler = testing::GoldenScaler();
  EXPECT_EQ(ToBytes({.checkpoint = {.scaler = scaler, .base = {"uid", 0}}}),
            ToBytes({.checkpoint = {.scaler = scaler, .base = {}}}));
}

TEST(WorkerCheckpointTest, BytesReadBackAndNothingElseDoes) {
  const WorkerCheckpoint saved{.checkpoint = {.scaler = testing::GoldenScaler(),
                                              .base = {"uid", 7},
                                              .iteration = 9},
                               .attempt = 3};
  EXPECT_THAT(WorkerCheckpointFromBytes(ToBytes(saved)),
              testing::IsOkAndHolds(saved));
  for (
      const std::string broken :
      {"", "{}", "[]", R"({"scaler":"None","base":{"session_uid":"u"}})",
       R"({"scaler":"None","base":{"session_uid":"u","step":-1},"attempt":0})",
       R"({"scaler":"None","base":{"session_uid":"u","step":1}})",
       R"({"scaler":"None","base":{"session_uid":"u","step":1},"attempt":0,"more":1})"}) {
    EXPECT_THAT(WorkerCheckpointFromBytes(broken),
                IsError(Reason::kInvalidField))
        << broken;
  }
}

}  // namespace
}  // namespace lossscaler
