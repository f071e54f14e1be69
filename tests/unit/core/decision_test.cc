// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/decision.h"

#include "gtest/gtest.h"

namespace lossscaler {
namespace {

Vote CompleteVote() {
  Vote vote;
  vote.verdict = Verdict::kFinite;
  vote.stream_ids = {"s1", "s2"};
  vote.scale_used = 1024.0;
  vote.base_session_uid = "uid";
  vote.base = 4;
  vote.iteration = 9;
  vote.sum_of_squares = 0.25;
  vote.request_id = "r1";
  vote.resolved = Verdict::kFinite;
  return vote;
}

TEST(SameVoteTest, ARepeatedVoteIsTheSame) {
  EXPECT_TRUE(SameVote(CompleteVote(), CompleteVote()));
  EXPECT_TRUE(SameVote(Vote(), Vote()));
}

TEST(SameVoteTest, WhatIsNotPartOfTheVoteMayDiffer) {
  Vote other = CompleteVote();
  other.sum_of_squares = 0.2500001;
  other.request_id = "r2";
  // The recorded one is resolved, the repeated one not yet.
  other.resolved = Verdict::kUnset;
  EXPECT_TRUE(SameVote(CompleteVote(), other));
}

TEST(SameVoteTest, EveryPartOfTheVoteCounts) {
  const auto differs = [](auto change) {
    Vote other = CompleteVote();
    change(other);
    return !SameVote(CompleteVote(), other) && !SameVote(other, CompleteVote());
  };
  EXPECT_TRUE(differs([](Vote& v) { v.verdict = Verdict::kOverflow; }));
  // The same finding said in another way: identity is of the vote as sent.
  EXPECT_TRUE(differs([](Vote& v) { v.verdict = Verdict::kUnset; }));
  EXPECT_TRUE(differs([](Vote& v) { v.stream_ids = {"s1"}; }));
  EXPECT_TRUE(differs([](Vote& v) { v.scale_used = 512.0; }));
  EXPECT_TRUE(differs([](Vote& v) { v.scale_used.reset(); }));
  EXPECT_TRUE(differs([](Vote& v) { v.base = 3; }));
  EXPECT_TRUE(differs([](Vote& v) { v.base.reset(); }));
  EXPECT_TRUE(differs([](Vote& v) { v.base_session_uid = "another"; }));
  EXPECT_TRUE(differs([](Vote& v) { v.iteration = 10; }));
  EXPECT_TRUE(differs([](Vote& v) { v.iteration.reset(); }));
}

// A stored decision does not keep the session of a vote's base: a vote repeated
// after a restart must still find itself there.
TEST(SameVoteTest, AnUnnamedSessionOfTheBaseMatchesAny) {
  Vote stored = CompleteVote();
  stored.base_session_uid.clear();
  EXPECT_TRUE(SameVote(stored, CompleteVote()));
  EXPECT_TRUE(SameVote(CompleteVote(), stored));
}

TEST(DecisionNamesTest, AreThoseOfTheProto) {
  EXPECT_EQ(VerdictName(Verdict::kUnset), "UNSPECIFIED");
  EXPECT_EQ(VerdictName(Verdict::kFinite), "FINITE");
  EXPECT_EQ(VerdictName(Verdict::kOverflow), "OVERFLOW");
  EXPECT_EQ(VerdictName(Verdict::kAbstain), "ABSTAIN");
  EXPECT_EQ(VerdictName(Verdict::kSkip), "SKIP");
  EXPECT_EQ(OutcomeName(Outcome::kApply), "APPLY");
  EXPECT_EQ(OutcomeName(Outcome::kSkipOverflow), "SKIP_OVERFLOW");
  EXPECT_EQ(OutcomeName(Outcome::kSkip), "SKIP");
  EXPECT_EQ(OutcomeName(Outcome::kAborted), "ABORTED");
  EXPECT_EQ(DecisionReasonName(DecisionReason::kFinite), "FINITE");
  EXPECT_EQ(DecisionReasonName(DecisionReason::kOverflow), "OVERFLOW");
  EXPECT_EQ(DecisionReasonName(DecisionReason::kVotedSkip), "VOTED_SKIP");
  EXPECT_EQ(DecisionReasonName(DecisionReason::kAllAbstained), "ALL_ABSTAINED");
  EXPECT_EQ(DecisionReasonName(DecisionReason::kRestored), "RESTORED");
}

TEST(DecisionTest, OnlyApplyApplies) {
  Decision decision;
  decision.outcome = Outcome::kApply;
  EXPECT_TRUE(decision.apply());
  for (Outcome outcome :
       {Outcome::kSkipOverflow, Outcome::kSkip, Outcome::kAborted}) {
    decision.outcome = outcome;
    EXPECT_FALSE(decision.apply()) << OutcomeName(outcome);
  }
}

TEST(SameVoteTest, PartsAreComparedButNotTheirSums) {
  Vote vote;
  vote.parts = {{"generator", Verdict::kFinite, 1.0}};
  Vote other = vote;
  other.parts[0].sum_of_squares = 2.0;
  EXPECT_TRUE(SameVote(vote, other));
  other.parts[0].verdict = Verdict::kOverflow;
  EXPECT_FALSE(SameVote(vote, other));
  other = vote;
  other.parts[0].name = "critic";
  EXPECT_FALSE(SameVote(vote, other));
  other.parts.clear();
  EXPECT_FALSE(SameVote(vote, other));
}

TEST(DecisionTest, TheClipCoefficientIsPyTorchs) {
  Decision decision;
  EXPECT_FALSE(decision.norm());
  EXPECT_FALSE(decision.clip_coefficient(1.0));
  decision.sum_of_squares = 9.0 + 16.0;
  EXPECT_EQ(decision.norm(), 5.0);
  EXPECT_EQ(decision.clip_coefficient(1.0), 1.0 / 5.000001);
  EXPECT_EQ(decision.clip_coefficient(6.0), 1.0);
  decision.sum_of_squares = 0.0;
  EXPECT_EQ(decision.clip_coefficient(1.0), 1.0);
}

}  // namespace
}  // namespace lossscaler
