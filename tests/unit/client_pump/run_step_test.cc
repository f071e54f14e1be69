// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/run_step.h"

#include <atomic>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
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
using ::lossscaler::testing::IsOk;

class RunStepTest : public WorkerTest {
 protected:
  Decision DecisionOf(std::int64_t step) {
    return server_->With(
        [&](GroupDriver& driver) { return driver.journal().at(step); });
  }
  static absl::Status Nothing(WorkerStep&) { return absl::OkStatus(); }
  static absl::Status Apply(const ApplyPermit&) { return absl::OkStatus(); }

  std::vector<float> gradients_ = {65536.0F};
  const GradientTensor tensors_[1] = {InPlace("g", std::span(gradients_))};
};

TEST_F(RunStepTest, AStepAppliesAndMovesTheBase) {
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

TEST_F(RunStepTest, AStepThatCannotBeComputedIsSkippedForEveryone) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  EXPECT_EQ(RunStep(
                worker, [](WorkerStep&) { return absl::DataLossError("disk"); },
                tensors_, Apply)
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
  EXPECT_THROW(RunStep(
                   worker,
                   [](WorkerStep&) -> absl::Status {
                     throw std::runtime_error("no memory");
                   },
                   tensors_, Apply)
                   .IgnoreError(),
               std::runtime_error);
  EXPECT_THAT(RunStep(worker, Nothing, tensors_, Apply), IsOk());
  EXPECT_EQ(DecisionOf(1).reason, DecisionReason::kVotedSkip);
  EXPECT_EQ(DecisionOf(2).reason, DecisionReason::kVotedSkip);
  EXPECT_EQ(worker.base().step, 3);
}

TEST_F(RunStepTest, AStepThatCouldNotBeAppliedIsNotInTheParameters) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  EXPECT_EQ(
      RunStep(worker, Nothing, tensors_,
              [](const ApplyPermit&) { return absl::DataLossError("disk"); })
          .status()
          .code(),
      absl::StatusCode::kDataLoss);
  EXPECT_EQ(worker.base().step, 0);
  EXPECT_FALSE(worker.UnansweredVote().has_value());
  EXPECT_THAT(RunStep(worker, Nothing, tensors_, Apply),
              IsError(Reason::kResync));
}

TEST_F(RunStepTest, WhoIsNotInSyncComputesNothingAndAbstains) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  worker.set_base({.session_uid = "other", .step = 7});
  bool computed = false;
  EXPECT_THAT(RunStep(
                  worker,
                  [&](WorkerStep&) {
                    computed = true;
                    return absl::OkStatus();
                  },
                  tensors_, Apply),
              IsError(Reason::kResync));
  EXPECT_FALSE(computed);
  worker.set_base({});
  EXPECT_THAT(RunStep(worker, Nothing, tensors_, Apply), IsOk());
  EXPECT_EQ(DecisionOf(1).reason, DecisionReason::kAllAbstained);
}

// Its decision was written, but could not be told for too long. The gradients
// are still there.
TEST_F(RunStepTest, AnApplyThatCouldNotBeToldInTimeMayBeHadLater) {
  StartServer(GroupOf(1));
  WorkerSession worker =
      Join({.worker = "w0", .unavailable_budget = absl::Milliseconds(200)});
  EXPECT_FALSE(worker.UnansweredVote().has_value());
  dispatcher_.reset();
  // From the gradients on nothing is delivered until the vote is in, and then
  // its answer is lost.
  std::atomic<bool> quiet = false;
  std::atomic<int> rounds = 0;
  std::jthread network([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const bool voted = server_->votes() > 0;
      if (voted) {
        server_->Refuse(absl::UnavailableError("down"));
        server_->Cut(absl::UnavailableError("down"));
      }
      if (voted || !quiet) server_->Deliver();
      ++rounds;
      std::this_thread::yield();
    }
  });
  const auto compute = [&](WorkerStep&) {
    quiet = true;
    for (const int seen = rounds; rounds < seen + 2;) std::this_thread::yield();
    return absl::OkStatus();
  };
  EXPECT_THAT(RunStep(worker, compute, tensors_, Apply),
              IsError(Reason::kUnavailableBudgetSpent));
  network.request_stop();
  network.join();
  server_->Refuse(absl::OkStatus());
  dispatcher_.emplace(server_.get());

  EXPECT_EQ(gradients_[0], 1.0F);
  // A step that begins has heard it, but nobody was given it.
  absl::StatusOr<WorkerStep> next = absl::UnknownError("");
  for (int i = 0; i < 50 && !next.ok(); ++i) next = worker.BeginStep();
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->number(), 2);
  std::optional<PendingDecision> vote = worker.UnansweredVote();
  ASSERT_TRUE(vote.has_value());
  absl::StatusOr<StepResult> late = vote->Wait();
  ASSERT_THAT(late, IsOk());
  EXPECT_EQ(late->decision().step, 1);
  std::optional<ApplyPermit> permit = late->TakePermit();
  ASSERT_TRUE(permit.has_value());
  permit->Done();
  EXPECT_EQ(worker.base().step, 1);
  EXPECT_FALSE(worker.UnansweredVote().has_value());
}

}  // namespace
}  // namespace lossscaler
