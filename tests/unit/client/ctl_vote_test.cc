// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// vote.

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"
#include "testing/ctl_group.h"

namespace lossscaler::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Return;

// The session is at step 5, scale 16777216, base 3.
class CtlVoteTest : public CtlTest {
 protected:
  CtlVoteTest() : info_(Group(Info("a"))) {
    info_.workers = {Worker("w0", 7)};
    ON_CALL(*connection_, GetSession).WillByDefault([this] { return info_; });
    EXPECT_CALL(*connection_, GetSession).Times(::testing::AnyNumber());
  }

  // The vote that the server is sent.
  Vote Cast(std::vector<const char*> line) {
    UpdateCall sent;
    EXPECT_CALL(*connection_, Update).WillOnce([&sent](const UpdateCall& call) {
      sent = call;
      return UpdateAnswer{.decision = OverflowDecision(),
                          .current = {.step = 6,
                                      .scale = 1024,
                                      .base = 4,
                                      .base_session_uid = "",
                                      .epoch = 2}};
    });
    line.insert(line.begin(), {"vote", "a", "w0"});
    EXPECT_EQ(Run(line), kDone) << err_.str();
    EXPECT_EQ(sent.session.uid, "uid-1");
    step_ = sent.step;
    return sent.vote;
  }

  SessionInfo info_;
  std::optional<std::int64_t> step_;
};

TEST_F(CtlVoteTest, AVoteStandsOnTheOpenStepAndShowsTheDecision) {
  const Vote vote = Cast({"--step", "5", "--overflow"});
  EXPECT_EQ(step_, 5);
  EXPECT_EQ(vote.worker, "w0");
  EXPECT_EQ(vote.incarnation, 7);
  EXPECT_EQ(vote.verdict, Verdict::kOverflow);
  EXPECT_EQ(vote.scale_used, 16777216);
  EXPECT_EQ(vote.base, 3);
  EXPECT_EQ(vote.base_session_uid, "uid-1");
  EXPECT_EQ(vote.iteration, std::nullopt);
  EXPECT_THAT(out_.str(), HasSubstr("outcome:      SKIP_OVERFLOW\n"));
  EXPECT_THAT(out_.str(), HasSubstr("next step:    6\n"));
}

TEST_F(CtlVoteTest, TheBaseMayBelongToAnotherSession) {
  info_.current.base_session_uid = "old";
  EXPECT_EQ(Cast({"--step", "5", "--finite"}).base_session_uid, "old");
}

TEST_F(CtlVoteTest, WhatIsNamedIsSentAsItIs) {
  const Vote vote =
      Cast({"--step", "5", "--overflow", "--incarnation", "2", "--scale-used",
            "8", "--base", "1", "--iteration", "9", "--sum-of-squares", "0.5",
            "--part", "a=finite", "--part", "b=c=overflow"});
  EXPECT_EQ(vote.incarnation, 2);
  EXPECT_EQ(vote.scale_used, 8);
  EXPECT_EQ(vote.base, 1);
  EXPECT_EQ(vote.base_session_uid, "uid-1");
  EXPECT_EQ(vote.iteration, 9);
  EXPECT_EQ(vote.sum_of_squares, 0.5);
  const std::vector<PartVote> parts = {
      {.name = "a", .verdict = Verdict::kFinite, .sum_of_squares = {}},
      {.name = "b=c", .verdict = Verdict::kOverflow, .sum_of_squares = {}}};
  EXPECT_EQ(vote.parts, parts);
}

TEST_F(CtlVoteTest, WhoAbstainsStandsOnNothing) {
  const Vote vote = Cast({"--step", "5", "--abstain"});
  EXPECT_EQ(vote.verdict, Verdict::kAbstain);
  EXPECT_EQ(vote.scale_used, std::nullopt);
  EXPECT_EQ(vote.base, std::nullopt);
}

TEST_F(CtlVoteTest, AVoteRepeatedAfterTheDecisionIsTheSameVote) {
  Decision decision = OverflowDecision();
  decision.step = 4;
  decision.scale_before = 2048;
  decision.base_before = 2;
  EXPECT_CALL(*connection_, ListDecisions)
      .WillOnce([&](const SessionRef& session, const ListDecisionsCall& call) {
        EXPECT_EQ(session.uid, "uid-1");
        EXPECT_EQ(call.step, 4);
        return DecisionPage{.decisions = {decision}, .next_page_token = ""};
      });
  const Vote vote = Cast({"--step", "4", "--finite"});
  EXPECT_EQ(step_, 4);
  EXPECT_EQ(vote.scale_used, 2048);
  EXPECT_EQ(vote.base, 2);
}

TEST_F(CtlVoteTest, AForgottenStepIsNotVotedOn) {
  EXPECT_CALL(*connection_, ListDecisions).WillOnce(Return(DecisionPage{}));
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "2", "--finite"}), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("STEP_FORGOTTEN: "));
}

TEST_F(CtlVoteTest, AVoteNamesItsStepAndOneVerdict) {
  EXPECT_EQ(Run({"vote", "a", "w0", "--finite"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--step is required"));
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "5"}), kWrongUsage);
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "5", "--finite", "--skip"}),
            kWrongUsage);
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "5", "--overflow", "--part",
                 "a=maybe"}),
            kWrongUsage);
  EXPECT_THAT(
      err_.str(),
      HasSubstr("\"a=maybe\" is neither NAME=finite nor NAME=overflow"));
}

TEST_F(CtlVoteTest, NobodyVotesForWhoIsNotIn) {
  info_.workers[0].member.state = MemberState::kLost;
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "5", "--finite"}), kRefused);
  EXPECT_THAT(err_.str(),
              HasSubstr("no worker \"w0\" is in \"a\"; nobody is\n"));
  info_.group.reset();
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "5", "--finite"}), kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("WRONG_KIND"));
}

TEST_F(CtlVoteTest, WaitsAsLongAsAStepMayTakeAndKeepsTheLeaseMeanwhile) {
  info_.group->step_timeout = absl::Minutes(2);
  info_.group->lease_ttl = absl::Seconds(12);
  Cast({"--step", "5", "--finite", "--deadline", "20s"});
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(132));
  EXPECT_EQ(options_.unary_deadline, absl::Seconds(4));
  Cast({"--step", "5", "--finite", "--wait", "3s"});
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(3));
  EXPECT_EQ(options_.unary_deadline, absl::Seconds(3));
  // The vote has to get there.
  Cast({"--step", "5", "--finite", "--wait", "0s"});
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(1));
}

TEST_F(CtlVoteTest, ADecisionThatDoesNotFallIsToldFromAServerThatIsAway) {
  const auto vote_after = [this](const char* code) {
    EXPECT_CALL(*connection_, Update)
        .WillOnce(Return(MakeError(Reason::kUnavailableBudgetSpent, "spent",
                                   {{"last_code", code}})));
    EXPECT_EQ(
        Run({"vote", "a", "w0", "--step", "5", "--finite", "--wait", "2s"}),
        kOutOfReach);
    return err_.str();
  };
  EXPECT_THAT(vote_after("DEADLINE_EXCEEDED"),
              HasSubstr("step 5 was not decided within 2s; the vote stays"));
  EXPECT_EQ(vote_after("UNAVAILABLE"),
            "lossscalerctl: UNAVAILABLE_BUDGET_SPENT: spent\n");
}

TEST_F(CtlVoteTest, ARefusedVoteIsNoDecision) {
  EXPECT_CALL(*connection_, Update)
      .WillOnce(Return(MakeError(Reason::kFenced, "gone")));
  EXPECT_EQ(Run({"vote", "a", "w0", "--step", "5", "--finite"}), kRefused);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), "lossscalerctl: FENCED: gone\n");
}

}  // namespace
}  // namespace lossscaler::ctl
