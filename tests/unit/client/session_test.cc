// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Session and Step, on a connection that the test makes up: what a test of a
// trainer looks like.

#include "lossscaler/client/session.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;
using lossscaler::testing::IsOkAndHolds;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using ::testing::Return;
using ::testing::StrictMock;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    info_.name = "team/run";
    info_.uid = "uid-1";
    info_.config = *LossScaler::Dynamic(1024, 2, 100);
    info_.scaler = info_.config;
    info_.current = {.step = 5, .scale = 1024, .base = 3, .epoch = 1};
    EXPECT_CALL(*connection_, CreateSession).WillRepeatedly([this](auto&&...) {
      return info_;
    });
  }

  Session Open() {
    return *Client(connection_).OpenSession("team/run", info_.config);
  }

  // Takes every vote, and decides.
  void TakeVotes() {
    EXPECT_CALL(*connection_, Update)
        .WillRepeatedly([this](const UpdateCall& call) {
          votes_.push_back(call);
          return Decided(*call.step, call.vote.verdict);
        });
  }

  static UpdateAnswer Decided(std::int64_t step, Verdict verdict) {
    UpdateAnswer answer;
    answer.decision.step = step;
    answer.decision.outcome = verdict == Verdict::kFinite ? Outcome::kApply
                              : verdict == Verdict::kOverflow
                                  ? Outcome::kSkipOverflow
                                  : Outcome::kSkip;
    answer.decision.base_before = 3;
    answer.decision.base_after = verdict == Verdict::kFinite ? step : 3;
    answer.current = {.step = step + 1,
                      .scale = 512,
                      .base = answer.decision.base_after,
                      .epoch = 1};
    return answer;
  }

  static UnscaleVerdict Finite(double sum = 9) {
    UnscaleVerdict verdict;
    verdict.element_count = 4;
    verdict.sum_of_squares = sum;
    return verdict;
  }
  static UnscaleVerdict Overflow() {
    UnscaleVerdict verdict = Finite();
    verdict.nan_count = 1;
    verdict.first_bad_index = 2;
    return verdict;
  }

  static absl::Status Spent() {
    return MakeError(Reason::kUnavailableBudgetSpent, "away");
  }

  SessionInfo info_;
  std::shared_ptr<StrictMock<MockConnection>> connection_ =
      std::make_shared<StrictMock<MockConnection>>();
  std::vector<UpdateCall> votes_;
};

TEST_F(SessionTest, StepFixesNumberScaleAndBase) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  Step other = session.BeginStep();
  other.AddVerdict(Finite());
  ASSERT_THAT(other.Update(), IsOk());
  EXPECT_EQ(session.current().step, 6);
  EXPECT_EQ(step.number(), 5);
  EXPECT_EQ(step.scale(), 1024);
  EXPECT_EQ(step.base(), 3);
  EXPECT_EQ(session.BeginStep().scale(), 512);
}

TEST_F(SessionTest, VotesFiniteAndNamesWhatItStoodOn) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  step.set_iteration(41);
  step.AddVerdict(Finite(9));
  step.AddVerdict(Finite(16));
  const auto decision = step.Update();
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
  ASSERT_EQ(votes_.size(), 1);
  EXPECT_EQ(votes_[0].session.name, "team/run");
  EXPECT_EQ(votes_[0].session.uid, "uid-1");
  EXPECT_EQ(votes_[0].step, 5);
  EXPECT_EQ(votes_[0].single_attempt, std::nullopt);
  Vote expected;
  expected.verdict = Verdict::kFinite;
  expected.scale_used = 1024;
  expected.base = 3;
  expected.base_session_uid = "uid-1";
  expected.iteration = 41;
  expected.sum_of_squares = 25;
  EXPECT_EQ(votes_[0].vote, expected);
}

TEST_F(SessionTest, VotesOverflowIfAnythingFoundWasNotFinite) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  step.AddVerdict(Overflow());
  step.AddVerdict(Finite());
  const auto decision = step.Update();
  ASSERT_THAT(decision, IsOk());
  EXPECT_FALSE(decision->apply());
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kOverflow);
}

TEST_F(SessionTest, SkipsOnDestruction) {
  TakeVotes();
  Session session = Open();
  { Step step = session.BeginStep(); }
  ASSERT_EQ(votes_.size(), 1);
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kSkip);
  EXPECT_EQ(votes_[0].step, 5);
  EXPECT_TRUE(votes_[0].single_attempt.has_value());
  EXPECT_EQ(session.current().step, 6);
}

TEST_F(SessionTest, SkipsOnDestructionOnceAlsoWithoutAnAnswer) {
  Session session = Open();
  EXPECT_CALL(*connection_, Update).WillOnce(Return(Spent()));
  { Step step = session.BeginStep(); }
}

TEST_F(SessionTest, VotesExactlyOnce) {
  TakeVotes();
  Session session = Open();
  {
    Step step = session.BeginStep();
    step.AddVerdict(Finite());
    EXPECT_THAT(step.Update(), IsOk());
    // The decision is known.
    EXPECT_THAT(step.Update(), IsOk());
  }
  EXPECT_EQ(votes_.size(), 1);
}

TEST_F(SessionTest, AMovedStepVotesInItsNewPlaceOnly) {
  TakeVotes();
  Session session = Open();
  {
    Step step = session.BeginStep();
    step.AddVerdict(Finite());
    Step moved = std::move(step);
    EXPECT_THAT(moved.Update(), IsOk());
  }
  EXPECT_EQ(votes_.size(), 1);
}

TEST_F(SessionTest, AStepThatIsReplacedVotesSkip) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  step = session.BeginStep();
  ASSERT_EQ(votes_.size(), 1);
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kSkip);
  step = std::move(*&step);  // To itself: nothing happens.
  EXPECT_EQ(votes_.size(), 1);
}

TEST_F(SessionTest, VoteRepeatedAfterAnErrorIsIdentical) {
  Session session = Open();
  std::vector<Vote> votes;
  EXPECT_CALL(*connection_, Update)
      .Times(2)
      .WillRepeatedly([&](const UpdateCall& call) {
        votes.push_back(call.vote);
        return votes.size() == 1 ? absl::StatusOr<UpdateAnswer>(Spent())
                                 : Decided(5, call.vote.verdict);
      });
  Step step = session.BeginStep();
  step.AddVerdict(Finite());
  EXPECT_THAT(step.Update(), IsError(Reason::kUnavailableBudgetSpent));
  // What is found later cannot change a vote that may have been recorded.
  step.AddVerdict(Overflow());
  step.set_iteration(8);
  EXPECT_THAT(step.Update(), IsOk());
  EXPECT_EQ(votes[0], votes[1]);
}

TEST_F(SessionTest, AStepWhoseVoteMayBeRecordedDoesNotVoteSkip) {
  Session session = Open();
  EXPECT_CALL(*connection_, Update).WillOnce(Return(Spent()));
  Step step = session.BeginStep();
  step.AddVerdict(Finite());
  EXPECT_THAT(step.Update(), IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(step.Skip(), IsError(Reason::kVoteConflict));
}

TEST_F(SessionTest, SkipAndAbstainNeedNoGradients) {
  TakeVotes();
  Session session = Open();
  EXPECT_THAT(session.BeginStep().Skip(), IsOk());
  EXPECT_THAT(session.BeginStep().Abstain(), IsOk());
  ASSERT_EQ(votes_.size(), 2);
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kSkip);
  EXPECT_EQ(votes_[1].vote.verdict, Verdict::kAbstain);
  EXPECT_EQ(votes_[1].vote.base, std::nullopt);
}

TEST_F(SessionTest, NoGradientsCheckedIsNotAVote) {
  TakeVotes();
  Session session = Open();
  {
    Step step = session.BeginStep();
    EXPECT_THAT(step.Update(), IsError(Reason::kNoGradientsChecked));
    EXPECT_TRUE(votes_.empty());
  }
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kSkip);
}

TEST_F(SessionTest, VerdictLostAfterAFailedUnscale) {
  TakeVotes();
  Session session = Open();
  EXPECT_CALL(*connection_, Unscale).WillOnce(Return(Spent()));
  Step step = session.BeginStep();
  step.AddVerdict(Finite());
  std::vector<float> gradients = {1};
  const GradientTensor tensor = InPlace("g", std::span(gradients));
  EXPECT_THAT(step.Unscale({&tensor, 1}),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(step.Update(), IsError(Reason::kVerdictLost));
  EXPECT_TRUE(votes_.empty());
  EXPECT_THAT(step.Skip(), IsOk());
}

TEST_F(SessionTest, UnscaleNamesItsStepAndAddsUp) {
  TakeVotes();
  Session session = Open();
  EXPECT_CALL(*connection_, Unscale).WillOnce([](const UnscaleCall& call) {
    EXPECT_EQ(call.step, 5);
    EXPECT_EQ(call.session.uid, "uid-1");
    EXPECT_EQ(call.tensors.size(), 2);
    return UnscaleAnswer{
        .scale = 1024, .step = 5, .tensors = {Finite(9), Overflow()}};
  });
  Step step = session.BeginStep();
  std::vector<float> a = {1};
  std::vector<float> b = {1};
  const GradientTensor tensors[] = {InPlace("a", std::span(a)),
                                    InPlace("b", std::span(b))};
  const auto found = step.Unscale(tensors);
  ASSERT_THAT(found, IsOk());
  EXPECT_TRUE(found->total.overflow());
  EXPECT_EQ(found->total.first_bad_index, std::nullopt);
  EXPECT_EQ(found->total.element_count, 8);
  EXPECT_EQ(found->norm(), std::sqrt(18.0));
  EXPECT_EQ(found->tensors[1].first_bad_index, 2);
  ASSERT_THAT(step.Update(), IsOk());
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kOverflow);
}

TEST_F(SessionTest, RefusesGradientsDividedByAnotherScale) {
  TakeVotes();
  Session session = Open();
  EXPECT_CALL(*connection_, Unscale)
      .WillOnce(Return(
          UnscaleAnswer{.scale = 512, .step = 5, .tensors = {Finite()}}));
  Step step = session.BeginStep();
  std::vector<float> a = {1};
  const GradientTensor tensor = InPlace("a", std::span(a));
  EXPECT_THAT(step.Unscale({&tensor, 1}), IsError(Reason::kScaleMismatch));
  EXPECT_THAT(step.Update(), IsError(Reason::kVerdictLost));
}

TEST_F(SessionTest, LocalWorkReportsNoProgress) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  std::vector<float> gradients(100'000, 1024);
  const GradientTensor tensor = InPlace("g", std::span(gradients));
  int reports = 0;
  EXPECT_THAT(
      step.UnscaleLocally(
          {&tensor, 1},
          {.on_progress = [&reports](const UnscaleProgress&) { ++reports; }}),
      IsOk());
  EXPECT_EQ(reports, 0);
}

TEST_F(SessionTest, UnscalesLocallyWithTheScaleOfTheStep) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  std::vector<float> gradients = {1024, 3072,
                                  std::numeric_limits<float>::infinity()};
  const GradientTensor tensor = InPlace("g", std::span(gradients));
  const auto found = step.UnscaleLocally({&tensor, 1});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(gradients[1], 3);
  EXPECT_EQ(found->tensors[0].first_bad_index, 2);
  EXPECT_EQ(found->norm(), std::sqrt(10.0));
  EXPECT_EQ(found->scale, 1024);
  ASSERT_THAT(step.Update(), IsOk());
  EXPECT_EQ(votes_[0].vote.verdict, Verdict::kOverflow);
}

TEST_F(SessionTest, UnscalesLocallyAsTheConfigurationSays) {
  DynamicOptions options;
  options.initial_scale = 3;
  options.unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal;
  info_.config = info_.scaler = *LossScaler::Dynamic(options);
  info_.current.scale = 3;
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  // 5 / 3 and 5 * (1 / 3) differ in the last bit of float32.
  const float divided = 5.0F / 3.0F;
  const float multiplied = 5.0F * static_cast<float>(1.0 / 3.0);
  ASSERT_NE(divided, multiplied);
  std::vector<float> gradients = {5};
  const GradientTensor tensor = InPlace("g", std::span(gradients));
  ASSERT_THAT(step.UnscaleLocally({&tensor, 1}), IsOk());
  EXPECT_EQ(gradients[0], multiplied);
}

TEST_F(SessionTest, TellsNoSumOfSquaresThatIsNotWhole) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  step.AddVerdict(Finite());
  std::vector<float> gradients = {1024};
  const GradientTensor tensor = InPlace("g", std::span(gradients));
  ASSERT_THAT(step.UnscaleLocally({&tensor, 1}, {.skip_statistics = true}),
              IsOk());
  ASSERT_THAT(step.Update(), IsOk());
  EXPECT_EQ(votes_[0].vote.sum_of_squares, std::nullopt);
}

TEST_F(SessionTest, CurrentOnlyMovesForward) {
  Session session = Open();
  const auto hear = [&](const Current& current) {
    SessionInfo info = info_;
    info.current = current;
    EXPECT_CALL(*connection_, GetSession).WillOnce(Return(info));
    EXPECT_THAT(session.Refresh(), IsOk());
    return session.current();
  };
  const Current later{.step = 7, .scale = 8, .base = 6, .epoch = 1};
  const Current older{.step = 6, .scale = 4, .base = 5, .epoch = 1};
  const Current restored{.step = 8, .scale = 2, .base = 7, .epoch = 2};
  EXPECT_EQ(hear(later), later);
  EXPECT_EQ(hear(older), later);
  EXPECT_EQ(hear(restored), restored);
  EXPECT_EQ(hear(later), restored);
}

TEST_F(SessionTest, CopiesShareWhatIsKnown) {
  TakeVotes();
  Session session = Open();
  Session copy = session;
  EXPECT_THAT(session.BeginStep().Skip(), IsOk());
  EXPECT_EQ(copy.current().step, 6);
}

TEST_F(SessionTest, RestoresOnlyTheEpochItKnows) {
  Session session = Open();
  RestoreAnswer answer;
  answer.decision.step = 5;
  answer.decision.outcome = Outcome::kAborted;
  answer.decision.reason = DecisionReason::kRestored;
  answer.decision.base_before = 3;
  answer.decision.base_after = 5;
  answer.session = info_;
  answer.session.current = {.step = 6, .scale = 64, .base = 5, .epoch = 2};
  EXPECT_CALL(*connection_, RestoreSession(_, info_.config, Eq(1), _))
      .WillOnce(Return(answer));
  const auto decision = session.Restore(info_.config);
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->outcome, Outcome::kAborted);
  EXPECT_EQ(session.current(), answer.session.current);
  EXPECT_EQ(session.base(), 5);
}

TEST_F(SessionTest, RepeatsARestoreWhoseAnswerWasLostAndNoOther) {
  Session session = Open();
  std::vector<std::string> ids;
  EXPECT_CALL(*connection_, RestoreSession(_, _, Eq(1), _))
      .Times(4)
      .WillRepeatedly(
          [&](auto&&, auto&&, auto&&,
              const std::string& id) -> absl::StatusOr<RestoreAnswer> {
            ids.push_back(id);
            if (ids.size() != 3) return Spent();
            RestoreAnswer answer;
            answer.decision.reason = DecisionReason::kRestored;
            answer.decision.outcome = Outcome::kAborted;
            answer.session = info_;
            return answer;
          });
  const LossScaler other = *LossScaler::Static(8);
  const auto spent = IsError(Reason::kUnavailableBudgetSpent);
  EXPECT_THAT(session.Restore(other), spent);
  EXPECT_THAT(session.Restore(info_.config), spent);
  EXPECT_THAT(session.Restore(info_.config), IsOk());
  // It is answered; an equal one is another one.
  EXPECT_THAT(session.Restore(info_.config), spent);
  EXPECT_FALSE(ids[0].empty());
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(ids[1], ids[2]);
  EXPECT_NE(ids[2], ids[3]);
}

TEST_F(SessionTest, LearnsOfAnothersRestoreThatForestalledItsOwn) {
  Session session = Open();
  SessionInfo restored = info_;
  restored.current = {.step = 6, .scale = 2, .base = 5, .epoch = 2};
  EXPECT_CALL(*connection_, RestoreSession)
      .WillOnce(Return(MakeError(Reason::kEpochMismatch, "epoch 2")));
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(restored));
  EXPECT_THAT(session.Restore(info_.config), IsError(Reason::kEpochMismatch));
  EXPECT_EQ(session.current(), restored.current);
  // The parameters are still the old ones.
  EXPECT_EQ(session.base(), 3);
}

TEST_F(SessionTest, DeletesItselfAndNoneOfItsName) {
  Session session = Open();
  EXPECT_CALL(*connection_,
              DeleteSession(AllOf(Field(&SessionRef::name, "team/run"),
                                  Field(&SessionRef::uid, "uid-1"))))
      .WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(session.Delete(), IsOk());
}

// --- votes whose answer was lost ---

TEST_F(SessionTest, TheNextStepRepeatsASkipThatGotNoAnswer) {
  Session session = Open();
  EXPECT_CALL(*connection_, Update)
      .WillRepeatedly(
          [this](const UpdateCall& call) -> absl::StatusOr<UpdateAnswer> {
            votes_.push_back(call);
            if (votes_.size() == 1) return absl::UnavailableError("lost");
            return Decided(*call.step, call.vote.verdict);
          });
  { Step early_continue = session.BeginStep(); }
  Step step = session.BeginStep();
  ASSERT_EQ(votes_.size(), 2);
  EXPECT_EQ(votes_[1].step, 5);
  EXPECT_EQ(votes_[1].vote, votes_[0].vote);
  EXPECT_EQ(votes_[1].single_attempt, std::nullopt);
  EXPECT_EQ(step.number(), 6);
  EXPECT_EQ(step.scale(), 512);
  step.AddVerdict(Finite());
  EXPECT_THAT(step.Update(), IsOk());
  EXPECT_EQ(votes_[2].step, 6);
  EXPECT_EQ(votes_.size(), 3);
}

TEST_F(SessionTest, AStepThatCouldNotBeSettledSaysSoAndDoesNotVoteOtherwise) {
  Session session = Open();
  bool away = true;
  EXPECT_CALL(*connection_, Update)
      .WillRepeatedly(
          [&](const UpdateCall& call) -> absl::StatusOr<UpdateAnswer> {
            votes_.push_back(call);
            if (away) return Spent();
            return Decided(*call.step, call.vote.verdict);
          });
  { Step early_continue = session.BeginStep(); }
  {
    Step step = session.BeginStep();
    EXPECT_EQ(step.number(), 5);
    EXPECT_THAT(step.ScaleLoss(1), IsError(Reason::kUnavailableBudgetSpent));
    away = false;
    // The server is back, and the number is taken.
    EXPECT_THAT(step.ScaleLoss(1),
                IsErrorSaying(Reason::kVoteConflict, "begin another step"));
  }
  EXPECT_EQ(votes_.size(), 4);
  for (const UpdateCall& call : votes_) {
    EXPECT_EQ(call.vote.verdict, Verdict::kSkip);
    EXPECT_EQ(call.step, 5);
  }
  EXPECT_EQ(session.BeginStep().number(), 6);
}

TEST_F(SessionTest, AVoteThatTheServerRefusedIsNotRepeated) {
  Session session = Open();
  EXPECT_CALL(*connection_, Update)
      .WillOnce(Return(MakeError(Reason::kResync, "base 4")))
      .WillOnce(Return(Decided(5, Verdict::kSkip)));
  { Step step = session.BeginStep(); }
  EXPECT_EQ(session.BeginStep().number(), 5);
}

TEST_F(SessionTest, LearnsWhereTheSessionStandsWhenAVoteComesTooLate) {
  for (const Reason reason : {Reason::kVoteConflict, Reason::kStepForgotten}) {
    Session session = Open();
    SessionInfo later = info_;
    later.current = {.step = 9, .scale = 64, .base = 8, .epoch = 1};
    EXPECT_CALL(*connection_, Update)
        .WillOnce(Return(MakeError(reason, "too late")));
    EXPECT_CALL(*connection_, GetSession).WillOnce(Return(later));
    Step step = session.BeginStep();
    step.AddVerdict(Finite());
    EXPECT_THAT(step.Update(), IsError(reason));
    EXPECT_EQ(session.current(), later.current);
    EXPECT_CALL(*connection_, Update)
        .WillOnce(Return(Decided(9, Verdict::kSkip)));
    EXPECT_EQ(session.BeginStep().number(), 9);
  }
}

// A disk that was restored from a backup.
TEST_F(SessionTest, GoesBackToAServerThatHasLostSteps) {
  Session session = Open();
  SessionInfo earlier = info_;
  earlier.current = {.step = 2, .scale = 2048, .base = 1, .epoch = 1};
  EXPECT_CALL(*connection_, ScaleLoss)
      .WillOnce(Return(MakeError(Reason::kStepAhead, "2 is next")));
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(earlier));
  TakeVotes();
  {
    Step step = session.BeginStep();
    EXPECT_THAT(step.ScaleLoss(1), IsError(Reason::kStepAhead));
  }
  Step step = session.BeginStep();
  EXPECT_EQ(step.number(), 2);
  // What the parameters contain has not changed: the vote will hear RESYNC.
  EXPECT_EQ(step.base(), 3);
}

// --- the base of the trainer's parameters ---

TEST_F(SessionTest, TheBaseMovesWithAppliedDecisionsThatArrived) {
  TakeVotes();
  Session session = Open();
  EXPECT_EQ(session.base(), 3);
  Step applied = session.BeginStep();
  applied.AddVerdict(Finite());
  ASSERT_THAT(applied.Update(), IsOk());
  EXPECT_EQ(session.base(), 5);
  Step skipped = session.BeginStep();
  skipped.AddVerdict(Overflow());
  ASSERT_THAT(skipped.Update(), IsOk());
  EXPECT_EQ(session.base(), 5);
  EXPECT_EQ(votes_[1].vote.base, 5);
}

TEST_F(SessionTest, ADecisionThatWasLostOnItsWayDoesNotMoveTheBase) {
  Session session = Open();
  EXPECT_CALL(*connection_, Update)
      .WillRepeatedly(
          [this](const UpdateCall& call) -> absl::StatusOr<UpdateAnswer> {
            votes_.push_back(call);
            if (votes_.size() == 1) return Spent();
            return Decided(*call.step, call.vote.verdict);
          });
  Step lost = session.BeginStep();
  lost.AddVerdict(Finite());
  EXPECT_THAT(lost.Update(), IsError(Reason::kUnavailableBudgetSpent));
  // Settles the vote: applied, as the server sees it.
  Step next = session.BeginStep();
  EXPECT_EQ(session.current().base, 5);
  EXPECT_EQ(next.number(), 6);
  EXPECT_EQ(next.base(), 3);
  EXPECT_EQ(session.base(), 3);
  // Asked again, the step tells its decision after all.
  EXPECT_THAT(lost.Update(), IsOk());
  EXPECT_EQ(session.base(), 5);
}

TEST_F(SessionTest, TheTrainerStatesTheBaseOfWhatItLoaded) {
  TakeVotes();
  Session session = Open();
  session.set_base(1);
  Session copy = session;
  EXPECT_EQ(copy.base(), 1);
  EXPECT_THAT(copy.BeginStep().Skip(), IsOk());
  EXPECT_EQ(votes_[0].vote.base, 1);
}

// --- errors before and after the first element ---

TEST_F(SessionTest, TensorsRefusedBeforeTheyAreTouchedAreNotLost) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  step.AddVerdict(Finite());
  const GradientTensor nothing = {.inner_size = 1};
  EXPECT_THAT(step.UnscaleLocally({&nothing, 1}),
              IsError(Reason::kInvalidTensor));
  for (const Reason reason :
       {Reason::kInvalidTensor, Reason::kNoTensors, Reason::kTooManyTensors,
        Reason::kInvalidCredentials}) {
    EXPECT_CALL(*connection_, Unscale).WillOnce(Return(MakeError(reason, "")));
    EXPECT_THAT(step.Unscale({&nothing, 1}), IsError(reason));
  }
  EXPECT_THAT(step.Update(), IsOk());
}

TEST_F(SessionTest, RefusesLossesScaledByAnotherScale) {
  TakeVotes();
  Session session = Open();
  ScaleLossAnswer answer;
  answer.scaled_losses = {512};
  answer.scale = 512;
  EXPECT_CALL(*connection_, ScaleLoss).WillOnce(Return(answer));
  Step step = session.BeginStep();
  step.AddVerdict(Finite());
  EXPECT_THAT(step.ScaleLoss(1), IsErrorSaying(Reason::kScaleMismatch, "1024"));
  EXPECT_THAT(step.Update(), IsError(Reason::kVerdictLost));
}

TEST_F(SessionTest, AVerdictWithoutStatisticsTellsNoSumOfSquares) {
  TakeVotes();
  Session session = Open();
  Step step = session.BeginStep();
  step.AddVerdict(Finite(0), {.skip_statistics = true});
  ASSERT_THAT(step.Update(), IsOk());
  EXPECT_EQ(votes_[0].vote.sum_of_squares, std::nullopt);
}

TEST_F(SessionTest, CheckpointIsTheStateOfTheServer) {
  Session session = Open();
  SessionInfo info = info_;
  info.scaler = *LossScaler::Static(8);
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(info));
  EXPECT_THAT(session.CheckpointJson(),
              IsOkAndHolds(Eq(R"({"Static":{"scale":8.0}})")));
}

TEST_F(SessionTest, ScalesOneLossAndMany) {
  TakeVotes();
  Session session = Open();
  EXPECT_CALL(*connection_, ScaleLoss)
      .Times(2)
      .WillRepeatedly([](const ScaleLossCall& call) {
        EXPECT_EQ(call.step, 5);
        ScaleLossAnswer answer;
        answer.scale = 1024;
        for (const float loss : call.losses) {
          answer.scaled_losses.push_back(loss * 1024);
        }
        answer.non_finite_losses = {1};
        return answer;
      });
  Step step = session.BeginStep();
  EXPECT_THAT(step.ScaleLoss(0.5F), IsOkAndHolds(Eq(512.0F)));
  const float losses[] = {1, 2};
  const auto scaled = step.ScaleLoss(losses);
  ASSERT_THAT(scaled, IsOk());
  EXPECT_THAT(scaled->losses, ElementsAre(1024, 2048));
  EXPECT_THAT(scaled->non_finite, ElementsAre(1));
}

TEST(ClientTest, ListsEveryPage) {
  auto connection = std::make_shared<StrictMock<MockConnection>>();
  SessionPage first;
  first.sessions.resize(2);
  first.next_page_token = "more";
  SessionPage last;
  last.sessions.resize(1);
  EXPECT_CALL(*connection, ListSessions("team/", 0, ""))
      .WillOnce(Return(first));
  EXPECT_CALL(*connection, ListSessions("team/", 0, "more"))
      .WillOnce(Return(last));
  const auto sessions = Client(connection).ListSessions("team/");
  ASSERT_THAT(sessions, IsOk());
  EXPECT_EQ(sessions->size(), 3);
}

TEST(ClientTest, OpensWhatIsThereAndCreatesOnlyWhatIsNot) {
  auto connection = std::make_shared<StrictMock<MockConnection>>();
  EXPECT_CALL(*connection, CreateSession(_, _, IfExists::kReturnIfEqual))
      .WillOnce(Return(SessionInfo()));
  EXPECT_CALL(*connection, CreateSession(_, _, IfExists::kFail))
      .WillOnce(Return(MakeError(Reason::kSessionExists, "taken")));
  Client client(connection);
  EXPECT_THAT(client.OpenSession("a", LossScaler::None()), IsOk());
  EXPECT_THAT(client.CreateSession("a", LossScaler::None()),
              IsError(Reason::kSessionExists));
}

}  // namespace
}  // namespace lossscaler
