// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/worker_step.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
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

class WorkerStepTest : public WorkerTest {
 protected:
  WorkerSession Start(const GroupConfig& config = GroupOf(1)) {
    StartServer(config);
    return Join({.worker = "w0"});
  }
  static WorkerStep Begin(WorkerSession& worker) {
    absl::StatusOr<WorkerStep> step = worker.BeginStep();
    EXPECT_THAT(step, IsOk());
    return *std::move(step);
  }
  Decision Last() {
    return server_->With([](GroupDriver& driver) { return driver.Last(); });
  }
};

TEST_F(WorkerStepTest, APermitExistsOnlyForAnApplyAndOnce) {
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

TEST_F(WorkerStepTest, NothingIsVotedOnUncheckedGradients) {
  StartServer(GroupOf(1));
  WorkerSession worker = Join({.worker = "w0"});
  absl::StatusOr<WorkerStep> step = worker.BeginStep();
  ASSERT_THAT(step, IsOk());
  EXPECT_THAT(step->Update(), IsError(Reason::kNoGradientsChecked));
  EXPECT_THAT(step->Abstain(), IsOk());
  step->AddVerdict({.element_count = 1});
  EXPECT_THAT(step->Update(), IsError(Reason::kVoteConflict));
}

TEST_F(WorkerStepTest, AStepThatIsDroppedIsSkippedForEveryone) {
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

TEST_F(WorkerStepTest, PartsOverflowEachForItself) {
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

TEST_F(WorkerStepTest, APartThatNobodyVotedOnDoesNotApply) {
  GroupConfig config = GroupOf(1);
  config.parts = PartPolicy::kEach;
  WorkerSession worker = Start(config);
  WorkerStep step = Begin(worker);
  step.AddVerdict({.element_count = 1}, {.part = "actor"});
  step.AddVerdict({.element_count = 1, .positive_infinity_count = 1},
                  {.part = "critic"});
  absl::StatusOr<StepResult> result = step.Update();
  ASSERT_THAT(result, IsOk());
  std::optional<ApplyPermit> permit = result->TakePermit();
  ASSERT_TRUE(permit.has_value());
  EXPECT_FALSE(permit->Applies("critics"));
  EXPECT_TRUE(permit->Applies(""));
}

TEST_F(WorkerStepTest, WithoutPartsEverythingApplies) {
  WorkerSession worker = Start();
  WorkerStep step = Begin(worker);
  step.AddVerdict({.element_count = 1});
  absl::StatusOr<StepResult> result = step.Update();
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->TakePermit()->Applies("whatever"));
}

// The trainer took the permit, loaded older parameters, and only then got to
// Done(): they lack the step.
TEST_F(WorkerStepTest, DoneDoesNotSpeakForParametersThatWereLoadedSince) {
  WorkerSession worker = Start();
  WorkerStep step = Begin(worker);
  step.AddVerdict({.element_count = 1});
  absl::StatusOr<StepResult> result = step.Update();
  ASSERT_THAT(result, IsOk());
  std::optional<ApplyPermit> permit = result->TakePermit();
  ASSERT_TRUE(permit.has_value());
  worker.set_base({.session_uid = "other", .step = 7});
  permit->Done();
  EXPECT_EQ(worker.base(), (Base{"other", 7}));
}

TEST_F(WorkerStepTest, ABadPartIsRefusedBeforeAnyGradientIsTouched) {
  WorkerSession worker = Start();
  WorkerStep step = Begin(worker);
  std::vector<float> gradients = {65536.0F};
  const GradientTensor tensors[] = {InPlace("g", std::span(gradients))};
  for (const std::string& part :
       {std::string("\xff"), std::string("a b"), std::string(65, 'x')}) {
    EXPECT_THAT(step.UnscaleLocally(tensors, {.part = part}),
                IsError(Reason::kInvalidField));
    EXPECT_THAT(step.Unscale(tensors, {.part = part}),
                IsError(Reason::kInvalidField));
  }
  EXPECT_EQ(gradients[0], 65536.0F);
  // Nothing is lost by it.
  EXPECT_THAT(step.UnscaleLocally(tensors), IsOk());
  EXPECT_THAT(step.Update(), IsOk());
}

// On the stream it would be a message that the server cannot even read.
TEST_F(WorkerStepTest, AVoteThatCannotBeIsNotSent) {
  WorkerSession worker = Start();
  {
    WorkerStep step = Begin(worker);
    step.AddVerdict({.element_count = 1}, {.part = "\xff"});
    EXPECT_THAT(step.StartUpdate(), IsError(Reason::kInvalidField));
    EXPECT_EQ(server_->votes(), 0);
  }
  WorkerStep step = Begin(worker);
  EXPECT_EQ(step.number(), 2);
  EXPECT_EQ(Last().reason, DecisionReason::kVotedSkip);
}

TEST_F(WorkerStepTest, ABaseThatIsNoIdIsNotSent) {
  WorkerSession worker = Start();
  worker.set_base({.session_uid = "\xff", .step = 1});
  {
    WorkerStep step = Begin(worker);
    step.AddVerdict({.element_count = 1});
    EXPECT_THAT(step.StartUpdate(), IsError(Reason::kInvalidField));
  }
  EXPECT_EQ(Begin(worker).number(), 2);
  EXPECT_EQ(server_->With([](GroupDriver& driver) {
    return driver.journal().at(1).reason;
  }),
            DecisionReason::kAllAbstained);
}

// Nobody can name the iteration after it.
TEST_F(WorkerStepTest, AnIterationWithoutANextOneIsNotSent) {
  WorkerSession worker = Start();
  worker.set_iteration(std::numeric_limits<std::int64_t>::max());
  {
    WorkerStep step = Begin(worker);
    step.AddVerdict({.element_count = 1});
    EXPECT_THAT(step.StartUpdate(), IsError(Reason::kInvalidField));
  }
  EXPECT_EQ(Begin(worker).number(), 2);
}

// Else the peers would wait for it until step_timeout.
TEST_F(WorkerStepTest, AStepWhoseVoteWasRefusedAbstainsInTheEnd) {
  WorkerSession worker = Start();
  worker.set_base({.session_uid = "elsewhere", .step = 7});
  {
    WorkerStep step = Begin(worker);
    EXPECT_THAT(step.Skip(), IsError(Reason::kResync));
  }
  EXPECT_EQ(Begin(worker).number(), 2);
  EXPECT_EQ(server_->With([](GroupDriver& driver) {
    return driver.journal().at(1).reason;
  }),
            DecisionReason::kAllAbstained);
}

TEST_F(WorkerStepTest, OnlyTheLastOwnerOfAStepVotesForIt) {
  WorkerSession worker = Start();
  WorkerStep step = Begin(worker);
  {
    WorkerStep moved = std::move(step);
    step = std::move(moved);
  }
  EXPECT_EQ(server_->votes(), 0);
  { const WorkerStep ended = std::move(step); }
  EXPECT_EQ(Begin(worker).number(), 2);
}

}  // namespace
}  // namespace lossscaler
