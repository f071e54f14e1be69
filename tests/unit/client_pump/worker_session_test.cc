// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Workers with their threads, against the coordinator in memory. What thread
// sanitizer watches.

#include "lossscaler/client/worker_session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/run_step.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "testing/worker_server.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::Dispatcher;
using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::WorkerServer;

constexpr float kInf = std::numeric_limits<float>::infinity();

class WorkerSessionTest : public ::testing::Test {
 protected:
  void StartServer(const GroupConfig& config) {
    server_ = std::make_shared<WorkerServer>(config);
    dispatcher_.emplace(server_.get());
  }
  WorkerSession Join(const WorkerOptions& options) {
    absl::StatusOr<WorkerSession> worker =
        WorkerSession::Join(server_, "run", options);
    EXPECT_THAT(worker, IsOk());
    return *std::move(worker);
  }
  std::string uid() {
    return server_->With(
        [](GroupDriver& driver) { return driver.state().uid; });
  }

  std::shared_ptr<WorkerServer> server_;
  std::optional<Dispatcher> dispatcher_;
};

// One step with gradients of the given scaled values.
absl::StatusOr<StepResult> Train(WorkerSession& worker,
                                 std::vector<float> scaled, int* applied) {
  const GradientTensor tensors[] = {InPlace("g", std::span(scaled))};
  return RunStep(
      worker, [](WorkerStep&) { return absl::OkStatus(); }, tensors,
      [&](const ApplyPermit&) {
        ++*applied;
        return absl::OkStatus();
      });
}

TEST_F(WorkerSessionTest, AStepAppliesAndMovesTheBase) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  std::vector<float> gradients = {65536.0F, -131072.0F};
  const GradientTensor tensors[] = {InPlace("g", std::span(gradients))};
  float scaled_loss = 0;
  const absl::StatusOr<StepResult> result = RunStep(
      worker,
      [&](WorkerStep& step) {
        scaled_loss = step.ScaleLoss(0.5F);
        return absl::OkStatus();
      },
      tensors,
      [&](const ApplyPermit& permit) {
        // sqrt(1 + 4); clipped to 1.
        EXPECT_DOUBLE_EQ(*permit.decision().norm(), std::sqrt(5.0));
        EXPECT_DOUBLE_EQ(*permit.decision().clip_coefficient(1.0),
                         1.0 / (std::sqrt(5.0) + 1e-6));
        return absl::OkStatus();
      });
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(scaled_loss, 32768.0F);
  EXPECT_THAT(gradients, ::testing::ElementsAre(1.0F, -2.0F));
  EXPECT_EQ(worker.base(), (Base{.session_uid = uid(), .step = 1}));
}

TEST_F(WorkerSessionTest, APermitExistsOnlyForAnApplyAndOnce) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  {
    absl::StatusOr<WorkerStep> step = worker.BeginStep();
    ASSERT_THAT(step, IsOk());
    step->AddVerdict({.element_count = 1, .positive_infinity_count = 1});
    absl::StatusOr<StepResult> skipped = step->Update();
    ASSERT_THAT(skipped, IsOk());
    EXPECT_EQ(skipped->TakePermit(), std::nullopt);
  }
  absl::StatusOr<WorkerStep> step = worker.BeginStep();
  ASSERT_THAT(step, IsOk());
  step->AddVerdict({.element_count = 1});
  absl::StatusOr<StepResult> first = step->Update();
  absl::StatusOr<StepResult> second = step->Update();
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  std::optional<ApplyPermit> permit = first->TakePermit();
  ASSERT_TRUE(permit.has_value());
  EXPECT_EQ(second->TakePermit(), std::nullopt);
  EXPECT_EQ(worker.base().step, 0);
  permit->Done();
  EXPECT_EQ(worker.base().step, 2);
}

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

TEST_F(WorkerSessionTest, AStepThatIsDroppedIsSkippedForEveryone) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  { ASSERT_THAT(worker.BeginStep(), IsOk()); }
  const absl::StatusOr<WorkerStep> next = worker.BeginStep();
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->number(), 2);
  const Decision decision =
      server_->With([](GroupDriver& driver) { return driver.Last(); });
  EXPECT_EQ(decision.reason, DecisionReason::kVotedSkip);
}

TEST_F(WorkerSessionTest, NothingIsVotedOnUncheckedGradients) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  absl::StatusOr<WorkerStep> step = worker.BeginStep();
  ASSERT_THAT(step, IsOk());
  EXPECT_THAT(step->Update(), IsError(Reason::kNoGradientsChecked));
  EXPECT_THAT(step->Abstain(), IsOk());
  step->AddVerdict({.element_count = 1});
  EXPECT_THAT(step->Update(), IsError(Reason::kVoteConflict));
}

TEST_F(WorkerSessionTest, PartsOverflowEachForItself) {
  GroupConfig config = GroupOf(1);
  config.parts = PartPolicy::kEach;
  StartServer(config);
  WorkerSession worker = Join({.worker = "w0"});
  absl::StatusOr<WorkerStep> step = worker.BeginStep();
  ASSERT_THAT(step, IsOk());
  step->AddVerdict({.element_count = 1, .sum_of_squares = 9.0},
                   {.part = "actor"});
  step->AddVerdict({.element_count = 1, .positive_infinity_count = 1},
                   {.part = "critic"});
  absl::StatusOr<StepResult> result = step->Update();
  ASSERT_THAT(result, IsOk());
  std::optional<ApplyPermit> permit = result->TakePermit();
  ASSERT_TRUE(permit.has_value());
  EXPECT_TRUE(permit->Applies("actor"));
  EXPECT_FALSE(permit->Applies("critic"));
  EXPECT_EQ(permit->decision().norm(), 3.0);
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
  server_->With([&](GroupDriver& driver) {
    EXPECT_THAT(driver.Leave(worker.worker()), IsOk());
  });
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

TEST_F(WorkerSessionTest, BeginStepWaitsForTheGroupAndLeaveEndsIt) {
  StartServer(GroupOf(2));
  WorkerSession w0 = Join({.worker = "w0"});
  absl::Status begun;
  std::thread waiter([&] { begun = w0.BeginStep().status(); });
  WorkerSession w1 = Join({.worker = "w1"});
  waiter.join();
  EXPECT_THAT(begun, IsOk());
  EXPECT_THAT(w1.Leave(), IsOk());
  EXPECT_EQ(w1.BeginStep().status().code(), absl::StatusCode::kCancelled);
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
  for (int i = 1; i < kWorkers; ++i) EXPECT_EQ(seen[i], seen[0]);
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
