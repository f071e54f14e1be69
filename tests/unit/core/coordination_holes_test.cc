// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Traces that broke earlier versions of the rules and that no other test goes
// through from end to end. tests/cases/README.md says where all others are.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/coordinator.h"
#include "testing/group_driver.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Eq;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// H1: every join raised the epoch, an older epoch was fenced, and who was
// fenced joined again: nobody ever voted.
TEST(CoordinationHolesTest, AnEpochThatHasRisenFencesNobody) {
  GroupConfig elastic = GroupOf(3);
  elastic.min_workers = 1;
  GroupDriver group(elastic);
  const WorkerRef w0 = group.Join("w0");
  const std::int64_t joined_in = group.state().epoch;
  const Vote computed = group.Suitable(Verdict::kFinite);
  group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  // Another one comes in between two steps, and once more in the middle of one.
  EXPECT_THAT(group.state().epoch, Gt(joined_in));
  EXPECT_THAT(group.Answered(group.Send(w0, 1, computed)), IsOk());
  group.Join("w2");
  const CallId call = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(call), ::testing::IsNull());
}

// A5: SKIP by loss, APPLY by the leaver's ABSTAIN and ABORTED all followed from
// the text.
TEST(CoordinationHolesTest, NobodyLeftIsAbortedWhoeverVotedAndHoweverTheyWent) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Advance(absl::Seconds(30), {w1});
  EXPECT_THAT(group.journal(), IsEmpty());
  EXPECT_THAT(group.Leave(w1), IsOk());
  EXPECT_THAT(group.journal(), SizeIs(1));
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kAborted));
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kNoWorkers));
}

// N7: a vote slipped in between the opening and a restore of its own.
TEST(CoordinationHolesTest, NoVoteIsTakenBetweenTheOpeningAndItsRestore) {
  GroupDriver group(GroupOf(2));
  const Checkpoint saved = {
      .scaler = *LossScaler::Dynamic(64.0, 2.0, 3), .base = {}, .iteration = 1};
  const WorkerRef w0 = group.Join("w0", saved);
  const CallId early = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(early), ::testing::IsNull());
  group.Join("w1", saved);
  // The write that opened the session has restored it already.
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(group.Last().votes, IsEmpty());
  EXPECT_THAT(group.state().scaler.scale(), Eq(64.0));
  ASSERT_THAT(group.Answered(early), IsOk());
  EXPECT_THAT(group.Answered(early)->reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(group.core().Find(w0, group.now())->vote.has_value(), Eq(false));
}

}  // namespace
}  // namespace lossscaler
