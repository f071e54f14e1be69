// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Votes and decisions. Ids (H2, A5 ...) are those of the traces that broke
// earlier versions of the rules.

#include "lossscaler/core/coordinator.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/group_driver.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNull;
using ::testing::Pair;
using ::testing::SizeIs;

// A vote that is refused, and the same state before and after.
void ExpectRefused(GroupDriver* group, const WorkerRef& worker,
                   std::int64_t step, const Vote& vote, Reason reason) {
  const auto before = group->Snapshot();
  EXPECT_THAT(group->Answered(group->Send(worker, step, vote)),
              IsError(reason));
  EXPECT_TRUE(group->Snapshot() == before) << ReasonName(reason);
}

TEST(CoordinatorTest, EveryWorkerReceivesTheOneDecision) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const CallId first = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(first), IsNull());
  const CallId second = group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.Answered(first), IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.Answered(second), IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.Last().votes, SizeIs(2));
  EXPECT_THAT(group.state().base, Eq(group.Last().step));
}

TEST(CoordinatorTest, ARepeatedVoteIsOneVoteAndGetsTheSameDecision) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const Vote vote = group.Suitable(Verdict::kFinite);
  const CallId once = group.Send(w0, 1, vote);
  const CallId twice = group.Send(w0, 1, vote);
  EXPECT_THAT(group.core().Members(group.now()), SizeIs(2));
  group.Send(w1, Verdict::kFinite);
  const CallId late = group.Send(w0, 1, vote);
  for (const CallId call : {once, twice, late}) {
    EXPECT_THAT(group.Answered(call), IsOkAndHolds(Eq(group.Last())));
  }
  EXPECT_THAT(group.Last().votes, SizeIs(2));
}

TEST(CoordinatorTest, AnotherVoteOnTheOpenStepIsAConflict) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  ExpectRefused(&group, w0, 1, group.Suitable(Verdict::kOverflow),
                Reason::kVoteConflict);
}

// M5.
TEST(CoordinatorTest, AnotherVoteOnADecidedStepIsAConflictAndNeverApplies) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  Vote vote = group.Suitable(Verdict::kFinite);
  group.Send(w0, 1, vote);
  vote.verdict = Verdict::kOverflow;
  ExpectRefused(&group, w0, 1, vote, Reason::kVoteConflict);
  vote.verdict = Verdict::kFinite;
  vote.iteration = 4;
  ExpectRefused(&group, w0, 1, vote, Reason::kVoteConflict);
}

TEST(CoordinatorTest, AVoteThatDoesNotBelongToTheStepIsNotRecorded) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Send(w1, Verdict::kFinite);
  const Vote good = group.Suitable(Verdict::kFinite);
  ExpectRefused(&group, w0, 3, good, Reason::kStepAhead);
  ExpectRefused(&group, w0, 0, good, Reason::kInvalidField);
  Vote vote = good;
  vote.scale_used = 1.0;
  ExpectRefused(&group, w0, 2, vote, Reason::kScaleMismatch);
  vote = good;
  vote.base = 0;
  ExpectRefused(&group, w0, 2, vote, Reason::kResync);
  vote = good;
  vote.base.reset();
  ExpectRefused(&group, w0, 2, vote, Reason::kInvalidField);
}

// N5: the base of a session that is no more has the same number.
TEST(CoordinatorTest, TheBaseOfAnotherSessionIsAnotherBase) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  Vote vote = group.Suitable(Verdict::kFinite);
  group.Send(w0, 1, vote);
  Vote foreign = group.Suitable(Verdict::kFinite);
  foreign.base_session_uid = "an earlier one";
  ExpectRefused(&group, w0, 2, foreign, Reason::kResync);
  group.Send(w0, Verdict::kFinite);
  ExpectRefused(&group, w0, 2, foreign, Reason::kVoteConflict);
}

TEST(CoordinatorTest, AForgottenStepIsSaidToBeSo) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  const Vote first = group.Suitable(Verdict::kSkip);
  for (int i = 0; i < 1025; ++i) group.Send(w0, Verdict::kSkip);
  ExpectRefused(&group, w0, 1, first, Reason::kStepForgotten);
}

// M1: the streams of an unset vote are gone.
TEST(CoordinatorTest, AVoteWhoseVerdictIsLostIsNotRecorded) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  Vote vote = group.Suitable(Verdict::kUnset);
  vote.stream_ids = {"s0", "s1"};
  const auto before = group.Snapshot();
  const CallId call =
      group.Send({.worker = w0,
                  .step = 1,
                  .vote = vote,
                  .resolved = MakeError(Reason::kVerdictLost, "gone")});
  EXPECT_THAT(group.Answered(call), IsError(Reason::kVerdictLost));
  EXPECT_TRUE(group.Snapshot() == before);
}

// R4 is asked before verdicts are resolved.
TEST(CoordinatorTest, ADecidedStepIsAnsweredAlthoughTheVerdictIsLost) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  Vote vote = group.Suitable(Verdict::kUnset);
  vote.stream_ids = {"s0"};
  group.Send(
      {.worker = w0, .step = 1, .vote = vote, .resolved = Verdict::kFinite});
  const CallId again =
      group.Send({.worker = w0,
                  .step = 1,
                  .vote = vote,
                  .resolved = MakeError(Reason::kVerdictLost, "gone")});
  EXPECT_THAT(group.Answered(again), IsOkAndHolds(Eq(group.Last())));
}

TEST(CoordinatorTest, AnEarlySkipIsTheAnswerToWhoHadNotVoted) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const Vote slow = group.Suitable(Verdict::kFinite);
  group.Send(w0, Verdict::kOverflow);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kSkipOverflow));
  EXPECT_THAT(group.Last().explanation, HasSubstr("w0"));
  EXPECT_THAT(group.Answered(group.Send(w1, 1, slow)),
              IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.core().Find(w1, group.now())->late_overflow,
              Eq(std::nullopt));
}

TEST(CoordinatorTest, AnOverflowAfterAnEarlySkipIsNotedBesideTheDecision) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const Vote slow = group.Suitable(Verdict::kOverflow);
  const CallId call = group.Send(w0, 1, slow);
  const Decision decision = group.Last();
  EXPECT_THAT(group.Answered(group.Send(w1, 1, slow)),
              IsOkAndHolds(Eq(decision)));
  EXPECT_THAT(group.Answered(call), IsOkAndHolds(Eq(decision)));
  group.Send(w0, 1, slow);
  EXPECT_THAT(group.core().Find(w1, group.now())->late_overflow, Eq(1));
  EXPECT_THAT(group.core().Find(w0, group.now())->late_overflow,
              Eq(std::nullopt));
}

// H9.
TEST(CoordinatorTest, AWorkerThatLacksAnAppliedStepIsToldWhatToLoad) {
  GroupConfig config = GroupOf(2);
  config.min_workers = 1;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const Vote outdated = group.Suitable(Verdict::kFinite);
  group.Send(w0, Verdict::kFinite);
  const CallId call = group.Send(w1, 2, outdated);
  EXPECT_THAT(group.Answered(call), IsError(Reason::kResync));
  EXPECT_THAT(MetadataOf(group.Answered(call).status()),
              Contains(Pair("base", "1")));
  // The stored APPLY is not for it either: its vote is not in there.
  const CallId stored = group.Send(w1, 1, outdated);
  EXPECT_THAT(group.Answered(stored), IsError(Reason::kResync));
  EXPECT_THAT(MetadataOf(group.Answered(stored).status()),
              Contains(Pair("base", "1")));
}

// H18.
TEST(CoordinatorTest, AnAbstainerAppliesOnlyOnTheDecisionsBase) {
  GroupDriver group(GroupOf(3));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const WorkerRef w2 = group.Join("w2");
  group.Send(w0, Verdict::kFinite);
  Vote in_sync = group.Suitable(Verdict::kAbstain);
  in_sync.base = 0;
  const CallId follows = group.Send(w1, 1, in_sync);
  const CallId silent = group.Send(w2, Verdict::kAbstain);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.Answered(follows), IsOk());
  EXPECT_THAT(group.Answered(silent), IsError(Reason::kResync));
  group.Send(w0, Verdict::kFinite);
  group.Send(w1, Verdict::kAbstain);
  const CallId behind = group.Send(w2, 2, in_sync);
  EXPECT_THAT(group.Last().step, Eq(2));
  EXPECT_THAT(group.Answered(behind), IsError(Reason::kResync));
}

TEST(CoordinatorTest, ASkipIsForWhoeverAbstains) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  EXPECT_THAT(group.Answered(group.Send(w0, Verdict::kAbstain)), IsOk());
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kAllAbstained));
}

// N9.
TEST(CoordinatorTest, AWorkerABatchAheadIsNamedAndAllGoOnTogether) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  Vote vote = group.Suitable(Verdict::kFinite);
  vote.iteration = 41;
  group.Send(w0, 1, vote);
  vote.iteration = 40;
  group.Send(w1, 1, vote);
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kIterationMismatch));
  EXPECT_THAT(group.Last().next_iteration, Eq(42));
  EXPECT_THAT(group.Last().explanation, HasSubstr("\"w0\" at 41"));
  EXPECT_THAT(group.Last().explanation, HasSubstr("\"w1\" at 40"));
  EXPECT_THAT(group.Last().scale_after, Eq(group.Last().scale_before));
}

// H4: every ending has a number of its own.
TEST(CoordinatorTest, AnAbortedStepIsNumberedAndKept) {
  GroupConfig config = GroupOf(2);
  config.on_timeout = StragglerPolicy::kAbort;
  config.min_workers = 1;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  const std::int64_t step = group.state().step;
  const Vote vote = group.Suitable(Verdict::kFinite);
  group.Send(w0, step, vote);
  group.Advance(absl::Seconds(60), {w0, w1});
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kAborted));
  EXPECT_THAT(group.Last().step, Eq(step));
  EXPECT_THAT(group.Last().evicted, ElementsAre("w1"));
  EXPECT_THAT(group.Last().scale_after, Eq(group.Last().scale_before));
  EXPECT_THAT(group.state().step, Eq(step + 1));
  EXPECT_THAT(group.Answered(group.Send(w0, step, vote)),
              IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.Answered(group.Send(w1, step, vote)),
              IsError(Reason::kFenced));
}

// H7.
TEST(CoordinatorTest, AStragglerIsEvictedAndNeverGetsTheStoredApply) {
  GroupConfig config = GroupOf(2);
  config.on_timeout = StragglerPolicy::kProceed;
  config.min_workers = 1;
  GroupDriver group(config);
  group.Join("w0");
  const WorkerRef w0{"w0", 1};
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  const std::int64_t step = group.state().step;
  const Vote late = group.Suitable(Verdict::kOverflow);
  const CallId call = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(call), IsNull());
  group.Advance(absl::Seconds(60), {w0, w1});
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.Answered(call), IsOk());
  ExpectRefused(&group, w1, step, late, Reason::kFenced);
}

TEST(CoordinatorTest, TimeoutsInARowAbortAndAnyOtherEndingBreaksTheRow) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const auto time_out = [&] {
    group.Send(w0, Verdict::kFinite);
    group.Advance(absl::Seconds(60), {w0, w1});
    return group.Last().outcome;
  };
  EXPECT_THAT(time_out(), Eq(Outcome::kSkip));
  EXPECT_THAT(time_out(), Eq(Outcome::kSkip));
  group.Send(w0, Verdict::kFinite);
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(time_out(), Eq(Outcome::kSkip));
  EXPECT_THAT(time_out(), Eq(Outcome::kSkip));
  EXPECT_THAT(time_out(), Eq(Outcome::kAborted));
  EXPECT_THAT(group.Last().evicted, ElementsAre("w1"));
}

// H2: the vote of the old incarnation still counts.
TEST(CoordinatorTest, ARecordedOverflowSurvivesTheTakeoverOfItsVoter) {
  GroupConfig config = GroupOf(2);
  config.early_decision = false;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const CallId old = group.Send(w0, Verdict::kOverflow);
  const absl::StatusOr<WorkerRef> heir =
      group.Join({.worker = "w0",
                  .request_id = "again",
                  .resume_token = group.TokenOf(w0)});
  ASSERT_THAT(heir, IsOk());
  EXPECT_THAT(group.Answered(old), IsError(Reason::kFenced));
  EXPECT_THAT(group.Answered(group.Send(*heir, Verdict::kFinite)),
              IsError(Reason::kNotActive));
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kSkipOverflow));
  EXPECT_THAT(group.AnswerTo(group.Send(*heir, Verdict::kFinite)), IsNull());
}

TEST(CoordinatorTest, AWorkerThatDiesAfterItsVoteIsCounted) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Advance(absl::Seconds(31), {w1});
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.Last().lost, IsEmpty());
}

// H15, and the bound: one TTL when every missing worker is dead.
TEST(CoordinatorTest, AWorkerThatDiesBeforeItsVoteEndsTheStepAfterOneTtl) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const CallId call = group.Send(w0, Verdict::kFinite);
  group.Advance(absl::Seconds(29), {w0});
  EXPECT_THAT(group.AnswerTo(call), IsNull());
  group.Advance(absl::Seconds(1), {w0});
  EXPECT_THAT(group.Answered(call), IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kWorkerLost));
  EXPECT_THAT(group.Last().lost, ElementsAre("w1"));
  // A frozen worker that wakes.
  ExpectRefused(&group, w1, 1, group.Suitable(Verdict::kFinite),
                Reason::kFenced);
}

// A6: an expiry that is due comes before the vote that would renew the lease.
TEST(CoordinatorTest, AVoteAfterTheLeaseIsTooLateWhateverTheTimer) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  group.Advance(absl::Seconds(30));
  EXPECT_THAT(group.Answered(group.Send(w0, Verdict::kFinite)),
              IsError(Reason::kFenced));
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kNoWorkers));
}

TEST(CoordinatorTest, WhoLeavesWithoutAVoteAbstains) {
  GroupConfig config = GroupOf(2);
  config.min_workers = 1;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  const std::int64_t epoch = group.state().epoch;
  group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.Leave(w1), IsOk());
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.Last().lost, IsEmpty());
  EXPECT_THAT(group.state().epoch, Eq(epoch + 1));
  EXPECT_THAT(group.Leave(w1), IsError(Reason::kFenced));
}

// A5.
TEST(CoordinatorTest, TheLastWorkerGoneAbortsTheStepAndLeavesAnIdleSession) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Advance(absl::Seconds(20), {w1});
  EXPECT_THAT(group.Leave(w0), IsOk());
  EXPECT_THAT(group.Leave(w1), IsOk());
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kNoWorkers));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kIdle));
  EXPECT_THAT(group.state().scaler, Eq(GoldenScaler()));
}

TEST(CoordinatorTest, TheLastWorkerGoneAfterAnOverflowIsASkip) {
  GroupConfig config = GroupOf(2);
  config.early_decision = false;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kOverflow);
  EXPECT_THAT(group.Leave(w0), IsOk());
  EXPECT_THAT(group.Leave(w1), IsOk());
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kSkipOverflow));
}

TEST(CoordinatorTest, AKilledServerForgetsVotesAndTheyAreGivenAgain) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Restart();
  EXPECT_THAT(group.journal(), IsEmpty());
  // A second time it may differ: nobody had seen a decision.
  group.Send(w0, Verdict::kSkip);
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kVotedSkip));
}

TEST(CoordinatorTest, ARevoteAfterTheWriteReturnsExactlyThatDecision) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  const Vote vote = group.Suitable(Verdict::kFinite);
  group.Send(w0, 1, vote);
  const SessionState before = group.state();
  group.Restart();
  EXPECT_TRUE(group.state() == before);
  EXPECT_THAT(group.Answered(group.Send(w0, 1, vote)),
              IsOkAndHolds(Eq(group.Last())));
}

// R11.
TEST(CoordinatorTest, ARestartGivesEveryLeaseOneMoreTtl) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  group.Advance(absl::Seconds(29));
  group.Restart();
  group.Advance(absl::Seconds(29));
  EXPECT_THAT(group.core().KeepAlive(w0, group.now()), IsOk());
}

// H11: gone with its vote, which a restart forgot.
TEST(CoordinatorTest, AfterARestartADepartedVoterIsALossAndNotWaitedFor) {
  GroupConfig config = GroupOf(3);
  config.on_timeout = StragglerPolicy::kWait;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Join("w2");
  group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.Leave(w0), IsOk());
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.journal(), IsEmpty());
  group.Restart();
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kWorkerLost));
  EXPECT_THAT(group.Last().lost, ElementsAre("w0"));
}

TEST(CoordinatorTest, ACallerThatHangsUpLeavesItsVote) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const Vote vote = group.Suitable(Verdict::kFinite);
  const CallId call = group.Send(w0, 1, vote);
  group.core().Forget(call);
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(call), IsNull());
  EXPECT_THAT(group.Answered(group.Send(w0, 1, vote)), IsOk());
}

TEST(CoordinatorTest, DrainingAnswersEveryWaitingCallOnce) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  group.Join("w1");
  const CallId call = group.Send(w0, Verdict::kFinite);
  const absl::Status draining = MakeError(Reason::kDraining, "bye");
  const std::vector<VoteAnswer> answers = group.core().DismissAll(draining);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].call, Eq(call));
  EXPECT_THAT(answers[0].status, IsError(Reason::kDraining));
  EXPECT_THAT(group.core().DismissAll(draining), IsEmpty());
}

TEST(CoordinatorTest, NormsAreOverAllVotersOrNotGiven) {
  GroupDriver group(GroupOf(3));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const WorkerRef w2 = group.Join("w2");
  Vote vote = group.Suitable(Verdict::kFinite);
  vote.sum_of_squares = 9;
  group.Send(w0, 1, vote);
  vote.sum_of_squares = 16;
  group.Send(w1, 1, vote);
  group.Send(w2, Verdict::kAbstain);
  EXPECT_THAT(group.Last().norm(), Eq(5.0));
  group.Send(w0, Verdict::kFinite);
  group.Send(w2, Verdict::kAbstain);
  vote = group.Suitable(Verdict::kFinite);
  vote.sum_of_squares = 16;
  group.Send(w1, 2, vote);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.Last().norm(), Eq(std::nullopt));
}

TEST(CoordinatorTest, UnderEachTheStepAppliesAndTheScaleFallsOnce) {
  GroupConfig config = GroupOf(1);
  config.parts = PartPolicy::kEach;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0");
  Vote vote = group.Suitable(Verdict::kOverflow);
  vote.parts = {{"d", Verdict::kOverflow}, {"g", Verdict::kFinite, 4.0}};
  EXPECT_THAT(group.Answered(group.Send(w0, 1, vote)), IsOk());
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_TRUE(group.Last().overflow);
  EXPECT_THAT(group.Last().scale_after, Eq(32768.0));
  EXPECT_THAT(group.Last().parts,
              ElementsAre(PartOutcome{"d", false, std::nullopt},
                          PartOutcome{"g", true, 4.0}));
  EXPECT_THAT(group.Last().norm(), Eq(2.0));
  EXPECT_THAT(group.state().base, Eq(1));
}

}  // namespace
}  // namespace lossscaler
