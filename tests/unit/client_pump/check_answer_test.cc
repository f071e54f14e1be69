// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/check_answer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;

Vote Finite() {
  return {.verdict = Verdict::kFinite,
          .scale_used = 8.0,
          .base_session_uid = "uid",
          .base = 3};
}

// Of step 5. It lists no votes: nothing depends on them.
Decision Apply() {
  Decision decision;
  decision.step = 5;
  decision.scale_before = 8.0;
  decision.base_before = 3;
  decision.base_after = 5;
  return decision;
}

absl::Status Check(const Decision& decision, const Vote& vote) {
  return CheckAnswer(decision, "uid", 5, vote);
}

TEST(CheckAnswerTest, AnApplyOfWhatWasVotedOnIsTaken) {
  EXPECT_THAT(Check(Apply(), Finite()), IsOk());
}

TEST(CheckAnswerTest, AnotherStepIsNoAnswer) {
  Decision decision = Apply();
  decision.step = 6;
  EXPECT_THAT(Check(decision, Finite()),
              IsErrorSaying(Reason::kMalformedAnswer, "number is 6 and not 5"));
}

TEST(CheckAnswerTest, ASkipNeedsNothingElse) {
  Decision decision = Apply();
  decision.outcome = Outcome::kSkipOverflow;
  decision.scale_before = 1.0;
  decision.base_before = 0;
  Vote vote = Finite();
  vote.verdict = Verdict::kOverflow;
  EXPECT_THAT(Check(decision, vote), IsOk());
}

TEST(CheckAnswerTest, WhoVotedForASkipAppliesNothing) {
  for (const Verdict verdict : {Verdict::kSkip, Verdict::kOverflow}) {
    Vote vote = Finite();
    vote.verdict = verdict;
    EXPECT_THAT(Check(Apply(), vote), IsErrorSaying(Reason::kMalformedAnswer,
                                                    "APPLY and not a skip"));
  }
}

TEST(CheckAnswerTest, PartsMayApplyDespiteAnOverflow) {
  Decision decision = Apply();
  decision.reason = DecisionReason::kPartsOverflow;
  Vote vote = Finite();
  vote.verdict = Verdict::kOverflow;
  EXPECT_THAT(Check(decision, vote), IsOk());
}

TEST(CheckAnswerTest, GradientsOfAnotherScaleAreNotApplied) {
  Decision decision = Apply();
  decision.scale_before = 16.0;
  EXPECT_THAT(Check(decision, Finite()),
              IsErrorSaying(Reason::kMalformedAnswer, "scale_before"));
}

TEST(CheckAnswerTest, GradientsOfAnotherBaseAreNotApplied) {
  Decision decision = Apply();
  decision.base_before = 2;
  EXPECT_THAT(Check(decision, Finite()),
              IsErrorSaying(Reason::kMalformedAnswer, "base_before"));
  decision = Apply();
  decision.base_before_session_uid = "other";
  EXPECT_THAT(Check(decision, Finite()),
              IsErrorSaying(Reason::kMalformedAnswer, "base_before"));
  decision.base_before_session_uid = "uid";
  EXPECT_THAT(Check(decision, Finite()), IsOk());
}

TEST(CheckAnswerTest, WhoNamedNoBaseAppliesNothing) {
  Vote vote;
  vote.verdict = Verdict::kAbstain;
  EXPECT_THAT(Check(Apply(), vote),
              IsErrorSaying(Reason::kMalformedAnswer, "not named"));
  vote.base = 3;
  EXPECT_THAT(Check(Apply(), vote), IsOk());
}

}  // namespace
}  // namespace lossscaler::internal
