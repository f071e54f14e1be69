// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/degraded.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/votes.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::VoteOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Decision OverflowOf(const std::string& worker) {
  Decision decision;
  decision.outcome = Outcome::kSkipOverflow;
  decision.votes = {VoteOf(Verdict::kFinite), VoteOf(Verdict::kOverflow)};
  decision.votes[0].worker = "innocent";
  decision.votes[1].worker = worker;
  return decision;
}

TEST(DegradedByTest, FiftySkipsInARowAreTooMany) {
  SessionState state;
  state.group.emplace();
  state.consecutive_skips = 49;
  const Decision last = OverflowOf("w3");
  EXPECT_FALSE(DegradedBy(state, &last));
  state.consecutive_skips = 50;
  const std::optional<Degraded> degraded = DegradedBy(state, &last);
  ASSERT_TRUE(degraded);
  EXPECT_THAT(degraded->reason, HasSubstr("50 steps"));
  EXPECT_THAT(degraded->workers, ElementsAre("w3"));
}

TEST(DegradedByTest, AGroupMayHaveAnotherLimit) {
  SessionState state;
  state.group.emplace().config.degraded_skips = 2;
  state.consecutive_skips = 2;
  EXPECT_TRUE(DegradedBy(state, nullptr));
}

TEST(DegradedByTest, AnOverflowAtTheFloorIsEnough) {
  Decision last = OverflowOf("w1");
  EXPECT_FALSE(DegradedBy(SessionState(), &last));
  last.floored = true;
  last.scale_after = 0.5;
  const std::optional<Degraded> degraded = DegradedBy(SessionState(), &last);
  ASSERT_TRUE(degraded);
  EXPECT_THAT(degraded->reason, HasSubstr("0.5"));
  EXPECT_THAT(degraded->workers, ElementsAre("w1"));
}

}  // namespace
}  // namespace lossscaler
