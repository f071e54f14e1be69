// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A7: decisions are lost in a power failure, with relaxed durability.

#include "lossscaler/core/pass_over_lost.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/error.h"
#include "testing/group_driver.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::testing::Each;
using ::testing::Eq;
using ::testing::Field;
using ::testing::SizeIs;

// A start of the whole job, from that checkpoint.
JoinEvent Start(std::int64_t attempt, std::optional<Checkpoint> checkpoint) {
  return {.worker = "w0",
          .request_id = "start",
          .attempt = attempt,
          .checkpoint = checkpoint};
}

TEST(PassOverLostTest, ClosesTheSessionAndSettlesItsRoster) {
  SessionState state;
  state.group.emplace().open = true;
  for (const MemberState member : {MemberState::kActive, MemberState::kPending,
                                   MemberState::kLost, MemberState::kLeft}) {
    state.group->members.push_back({.worker = "w", .state = member});
  }
  PassOverLost(&state, 1);
  EXPECT_TRUE(state.group->restore_required);
  EXPECT_FALSE(state.group->open);
  EXPECT_THAT(state.group->members, SizeIs(2));
  EXPECT_THAT(state.group->members,
              Each(Field(&Member::state, MemberState::kActive)));
}

TEST(PassOverLostTest, NoNumberThatMayHaveBeenLostIsUsedAgain) {
  SessionState state;
  state.step = 7;
  state.epoch = 3;
  state.group.emplace().next_incarnation = 5;
  PassOverLost(&state, 1);
  EXPECT_THAT(state.step, Eq(7 + kLostAtMost));
  EXPECT_THAT(state.epoch, Eq(3 + kLostAtMost));
  EXPECT_THAT(state.group->next_incarnation, Eq(5 + kLostAtMost));
}

// The store says so at every start until the session is restored.
TEST(PassOverLostTest, OneLossIsPassedOverOnce) {
  SessionState state;
  state.group.emplace();
  PassOverLost(&state, 1);
  const SessionState once = state;
  PassOverLost(&state, 1);
  EXPECT_TRUE(state == once);
}

// A join is written while a restore is required, then a restore and decisions
// that the next power loss takes.
TEST(PassOverLostTest, AnotherLossIsPassedOverAgain) {
  SessionState state;
  state.group.emplace();
  PassOverLost(&state, 1);
  PassOverLost(&state, 2);
  EXPECT_THAT(state.step, Eq(1 + 2 * kLostAtMost));
  EXPECT_THAT(state.group->next_incarnation, Eq(1 + 2 * kLostAtMost));
}

TEST(PassOverLostTest, ASoloSessionGoesOnBeyondTheLostNumbers) {
  SessionState state;
  state.step = 7;
  PassOverLost(&state, 1);
  EXPECT_THAT(state.step, Eq(7 + kLostAtMost));
  EXPECT_THAT(state.epoch, Eq(1 + kLostAtMost));
}

TEST(PassOverLostTest, NeitherVotesNorANewAttemptOpenTheSession) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  group.LosePower();
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kRestoreRequired));
  const CallId vote = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.Answered(vote),
              IsErrorSaying(Reason::kSessionPaused, "RestoreSession"));
  EXPECT_TRUE(RetryDelayOf(group.Answered(vote).status()));
  ASSERT_THAT(group.Join(Start(1, std::nullopt)), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kRestoreRequired));
}

TEST(PassOverLostTest, ARestoreOpensTheSessionBeyondTheLostSteps) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  group.LosePower();
  ASSERT_THAT(group.Restore(GoldenScaler()), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(group.Last().step, Eq(1 + kLostAtMost));
  // Parameters that contain the lost step 1 do not pass for the restored ones.
  Vote vote = group.Suitable(Verdict::kFinite);
  vote.base = 1;
  const CallId lost = group.Send(w0, group.state().step, vote);
  EXPECT_THAT(group.Answered(lost), IsError(Reason::kResync));
}

TEST(PassOverLostTest, OneCheckpointOfAllWorkersRestoresTheSession) {
  GroupDriver group(GroupOf(1));
  group.Join("w0");
  group.LosePower();
  // It contains step 2, which the store has lost.
  const Checkpoint saved{.scaler = GoldenScaler(), .base = {"uid", 2}};
  ASSERT_THAT(group.Join(Start(1, saved)), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_FALSE(group.state().group->restore_required);
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(group.state().base, Eq(2));
}

TEST(PassOverLostTest, ACheckpointThatStandsWhereTheSessionDoesRestoresIt) {
  GroupDriver group(GroupOf(1));
  group.Join("w0");
  group.LosePower();
  ASSERT_THAT(group.Join(Start(1, Checkpoint{.scaler = GoldenScaler()})),
              IsOk());
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
}

TEST(PassOverLostTest, ACheckpointOfSomeWorkersIsNotEnough) {
  GroupDriver group(GroupOf(2));
  group.Join("w0");
  group.Join("w1");
  group.LosePower();
  const Checkpoint saved{.scaler = GoldenScaler(), .base = {"uid", 2}};
  ASSERT_THAT(group.Join(Start(1, saved)), IsOk());
  JoinEvent other = Start(1, std::nullopt);
  other.worker = "w1";
  ASSERT_THAT(group.Join(other), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kRestoreRequired));
}

}  // namespace
}  // namespace lossscaler
