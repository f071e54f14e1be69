// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Joins, pauses, attempts, checkpoints and restores. Ids (H3, N2 ...) are those
// of the traces that broke earlier versions of the rules.

#include <string>
#include <utility>

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
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::IsNull;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

void ExpectJoinRefused(GroupDriver* group, const JoinEvent& event,
                       Reason reason) {
  const auto before = group->Snapshot();
  EXPECT_THAT(group->Join(event), IsError(reason));
  EXPECT_TRUE(group->Snapshot() == before) << ReasonName(reason);
}

MemberState StateOf(const GroupDriver& group, const WorkerRef& worker) {
  return group.core().Find(worker, group.now())->member.state;
}

// The state of a session in which one step was applied.
Checkpoint Saved(std::int64_t step, std::string uid = "uid") {
  LossScaler scaler = GoldenScaler();
  scaler.Update(true);
  return {.scaler = scaler, .base = {std::move(uid), step}};
}

GroupConfig Elastic(std::int64_t min, std::int64_t max) {
  GroupConfig config = GroupOf(max);
  config.min_workers = min;
  return config;
}

// H3.
TEST(JoinTest, WhileTooFewAreInJoinsActAtOnce) {
  GroupDriver group(GroupOf(2));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kIdle));
  const WorkerRef w0 = group.Join("w0");
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kPaused));
  EXPECT_THAT(group.core().why_closed(), IsError(Reason::kSessionPaused));
  const CallId early = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(early), IsNull());
  const WorkerRef w1 = group.Join("w1");
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(StateOf(group, w1), Eq(MemberState::kActive));
  // Told at once that votes are taken; it was not recorded.
  EXPECT_THAT(group.Answered(early), IsError(Reason::kSessionPaused));
  EXPECT_TRUE(RetryDelayOf(group.Answered(early).status()));
  group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.journal(), IsEmpty());
}

TEST(JoinTest, APausedVoteIsAnsweredAfterStepTimeout) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const CallId call = group.Send(w0, Verdict::kFinite);
  group.Advance(absl::Seconds(59), {w0});
  EXPECT_THAT(group.AnswerTo(call), IsNull());
  EXPECT_THAT(group.core().NextDue(), Eq(group.now() + absl::Seconds(1)));
  group.Advance(absl::Seconds(1), {w0});
  EXPECT_THAT(group.Answered(call), IsError(Reason::kSessionPaused));
}

TEST(JoinTest, AShrunkenGroupPausesAtTheBoundaryAndResumes) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  EXPECT_THAT(group.Leave(w1), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kPaused));
  group.Join("w1");
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
}

// A2, H1: a join neither ends the step nor fences anybody.
TEST(JoinTest, DuringAStepANewcomerIsPendingUntilTheBoundary) {
  GroupDriver group(Elastic(1, 2));
  const WorkerRef w0 = group.Join("w0");
  const std::int64_t epoch = group.state().epoch;
  const WorkerRef w1 = group.Join("w1");
  EXPECT_THAT(StateOf(group, w1), Eq(MemberState::kPending));
  EXPECT_THAT(group.state().epoch, Eq(epoch));
  const absl::StatusOr<Decision> early =
      group.Answered(group.Send(w1, Verdict::kFinite));
  EXPECT_THAT(early, IsError(Reason::kNotActive));
  EXPECT_TRUE(RetryDelayOf(early.status()));
  group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
  EXPECT_THAT(StateOf(group, w1), Eq(MemberState::kActive));
  EXPECT_THAT(group.state().epoch, Eq(epoch + 1));
  EXPECT_THAT(group.Last().epoch_after, Eq(epoch + 1));
}

// A3.
TEST(JoinTest, ANewcomerThatIsNotInSyncAbstains) {
  GroupDriver group(Elastic(1, 2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Send(w0, Verdict::kFinite);
  group.Send(w1, Verdict::kAbstain);
  EXPECT_THAT(group.Last().step, Eq(2));
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kApply));
}

// A1, also in a later step and beside other workers.
TEST(JoinTest, ARepeatedRequestIsTheSameIncarnation) {
  GroupDriver group(Elastic(1, 3));
  const JoinEvent event{.worker = "w0", .request_id = "r"};
  const absl::StatusOr<WorkerRef> first = group.Join(event);
  ASSERT_THAT(first, IsOk());
  group.Join("w1");
  group.Send(*first, Verdict::kFinite);
  const auto before = group.Snapshot();
  const absl::StatusOr<WorkerRef> again = group.Join(event);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->incarnation, Eq(first->incarnation));
  EXPECT_TRUE(group.Snapshot() == before);
  group.Restart();
  EXPECT_THAT(group.Join(event)->incarnation, Eq(first->incarnation));
  EXPECT_THAT(group.Leave(*first), IsOk());
  EXPECT_THAT(group.Join(event), IsError(Reason::kFenced));
  group.Send({"w1", 2}, Verdict::kFinite);
  ExpectJoinRefused(&group, event, Reason::kFenced);
}

TEST(JoinTest, AHeldNameIsRefusedWithWhatIsLeftOfItsLease) {
  GroupDriver group(GroupOf(2));
  group.Join("w0");
  group.Advance(absl::Seconds(10));
  ExpectJoinRefused(&group, {.worker = "w0", .request_id = "other"},
                    Reason::kWorkerHeld);
  ExpectJoinRefused(
      &group, {.worker = "w0", .request_id = "other", .resume_token = "guess"},
      Reason::kWorkerHeld);
  const absl::Status status =
      group.Join(JoinEvent{.worker = "w0", .request_id = "other"}).status();
  EXPECT_THAT(MetadataOf(status), Contains(Pair("lease_left", "20s")));
  EXPECT_THAT(RetryDelayOf(status), Eq(absl::Seconds(20)));
}

TEST(JoinTest, ATokenOfANameThatIsFreeIsOfNoConsequence) {
  GroupDriver group(GroupOf(2));
  EXPECT_THAT(group.Join({.worker = "w0",
                          .request_id = "r",
                          .resume_token = "of an expired incarnation"}),
              IsOk());
}

// H13.
TEST(JoinTest, ADelayedTakeoverDoesNotFenceItsSuccessor) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const std::string token = group.TokenOf(w0);
  const absl::StatusOr<WorkerRef> second =
      group.Join({.worker = "w0", .request_id = "102", .resume_token = token});
  ASSERT_THAT(second, IsOk());
  ExpectJoinRefused(
      &group, {.worker = "w0", .request_id = "101", .resume_token = token},
      Reason::kWorkerHeld);
  EXPECT_THAT(group.core().KeepAlive(*second, group.now()), IsOk());
  EXPECT_THAT(group.core().KeepAlive(w0, group.now()),
              IsError(Reason::kFenced));
}

// H8: what was revealed is what a restart loads.
TEST(JoinTest, IncarnationsAndEpochsAreNeverGivenTwice) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0");
  const std::int64_t epoch = group.state().epoch;
  group.Restart();
  EXPECT_THAT(group.state().epoch, Eq(epoch));
  EXPECT_THAT(group.Leave(w0), IsOk());
  EXPECT_THAT(group.Join("w0").incarnation, Eq(w0.incarnation + 1));
}

TEST(JoinTest, BadJoinsChangeNothing) {
  GroupDriver group(GroupOf(1));
  const JoinEvent good{.worker = "w0", .request_id = "r"};
  JoinEvent bad = good;
  for (const std::string& name : {std::string(), std::string("a b"),
                                  std::string(65, 'x'), std::string("\xff")}) {
    bad.worker = name;
    ExpectJoinRefused(&group, bad, Reason::kInvalidField);
  }
  bad = good;
  bad.request_id.clear();
  ExpectJoinRefused(&group, bad, Reason::kRequestIdRequired);
  bad = good;
  bad.attempt = -1;
  ExpectJoinRefused(&group, bad, Reason::kInvalidField);
  bad = good;
  bad.checkpoint = Checkpoint{.scaler = LossScaler::None()};
  ExpectJoinRefused(&group, bad, Reason::kConfigMismatch);
  bad.checkpoint = Checkpoint{GoldenScaler(), {"uid", -1}};
  ExpectJoinRefused(&group, bad, Reason::kInvalidField);
  bad.checkpoint = Checkpoint{GoldenScaler(), {"", 3}};
  ExpectJoinRefused(&group, bad, Reason::kInvalidField);
  bad.checkpoint = Checkpoint{GoldenScaler(), {}, -1};
  ExpectJoinRefused(&group, bad, Reason::kInvalidField);
  // The number would come again as another step.
  bad.checkpoint = Checkpoint{GoldenScaler(), {"uid", 1}};
  ExpectJoinRefused(&group, bad, Reason::kStepAhead);
  group.Join("w0");
  ExpectJoinRefused(&group, {.worker = "w1", .request_id = "r"},
                    Reason::kTooManyWorkers);
}

// N1, N1c.
TEST(AttemptTest, AHigherOneEndsStepAndMembershipOfTheLower) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0", std::nullopt, 1);
  const WorkerRef w1 = group.Join("w1", std::nullopt, 1);
  const CallId recorded = group.Send(w1, Verdict::kFinite);
  const WorkerRef heir = group.Join("w1", std::nullopt, 2);
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kNewAttempt));
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kAborted));
  EXPECT_THAT(group.Last().lost, ElementsAre("w0"));
  EXPECT_THAT(group.Answered(recorded), IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kPaused));
  EXPECT_THAT(group.core().Members(group.now()), SizeIs(1));
  EXPECT_THAT(
      group.Answered(group.Send(w0, 1, group.Suitable(Verdict::kFinite))),
      IsError(Reason::kFenced));
  EXPECT_THAT(group.journal(), SizeIs(1));
  group.Join("w0", std::nullopt, 2);
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(StateOf(group, heir), Eq(MemberState::kActive));
}

TEST(AttemptTest, ARecordedOverflowWinsOverANewAttempt) {
  GroupConfig config = GroupOf(2);
  config.early_decision = false;
  GroupDriver group(config);
  const WorkerRef w0 = group.Join("w0", std::nullopt, 1);
  group.Join("w1", std::nullopt, 1);
  group.Send(w0, Verdict::kOverflow);
  group.Join("w0", std::nullopt, 2);
  EXPECT_THAT(group.Last().outcome, Eq(Outcome::kSkipOverflow));
}

TEST(AttemptTest, ALowerOneIsToldTheCurrentOne) {
  GroupDriver group(GroupOf(2));
  group.Join("w0", std::nullopt, 3);
  const JoinEvent event{.worker = "w1", .request_id = "r", .attempt = 2};
  ExpectJoinRefused(&group, event, Reason::kStaleAttempt);
  EXPECT_THAT(MetadataOf(group.Join(event).status()),
              Contains(Pair("current_attempt", "3")));
}

TEST(AttemptTest, ARequestIdBelongsToItsAttempt) {
  GroupDriver group(GroupOf(2));
  JoinEvent event{.worker = "w0", .request_id = "start", .attempt = 1};
  const absl::StatusOr<WorkerRef> first = group.Join(event);
  event.attempt = 2;
  const absl::StatusOr<WorkerRef> second = group.Join(event);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->incarnation, Eq(first->incarnation + 1));
  EXPECT_THAT(group.Join(event)->incarnation, Eq(second->incarnation));
  event.attempt = 1;
  ExpectJoinRefused(&group, event, Reason::kStaleAttempt);
}

TEST(AttemptTest, AWorkerRestartingAloneKeepsItsAttempt) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0", std::nullopt, 1);
  group.Join("w1", std::nullopt, 1);
  EXPECT_THAT(group.Join({.worker = "w0",
                          .request_id = "again",
                          .resume_token = group.TokenOf(w0),
                          .attempt = 1}),
              IsOk());
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kWorkerLost));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
}

// The whole job restarts from a checkpoint, twice from the same one (N2), whose
// base the workers go on from (N4).
TEST(CheckpointTest, EveryRestartFromACheckpointIsOneRestore) {
  GroupDriver group(GroupOf(2));
  WorkerRef w0 = group.Join("w0");
  WorkerRef w1 = group.Join("w1");
  group.Send(w0, Verdict::kFinite);
  group.Send(w1, Verdict::kFinite);
  const Checkpoint saved = {.scaler = group.state().scaler,
                            .base = {"uid", group.state().base},
                            .iteration = 7};
  for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
    group.Send(w0, Verdict::kOverflow);
    EXPECT_THAT(group.state().scaler.scale(), Eq(32768.0));
    const std::int64_t step = group.state().step;
    const std::int64_t epoch = group.state().epoch;
    w0 = group.Join("w0", saved, attempt);
    w1 = group.Join("w1", saved, attempt);
    // The step that the new attempt ended, then the restore.
    EXPECT_THAT(group.Last().step, Eq(step + 1));
    EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
    EXPECT_THAT(group.Last().scale_after, Eq(65536.0));
    EXPECT_THAT(group.Last().base_after, Eq(1));
    EXPECT_THAT(group.state().scaler, Eq(saved.scaler));
    EXPECT_THAT(group.state().base, Eq(1));
    EXPECT_GT(group.state().epoch, epoch);
    for (const MemberView& view : group.core().Members(group.now())) {
      EXPECT_FALSE(view.member.checkpoint);
    }
  }
  group.Send(w0, Verdict::kFinite);
  const CallId call = group.Send(w1, Verdict::kFinite);
  EXPECT_THAT(group.Answered(call), IsOk());
  EXPECT_THAT(group.Last().base_before, Eq(1));
}

TEST(CheckpointTest, WhatTheSessionStandsOnIsNotRestored) {
  GroupDriver group(GroupOf(2));
  const Checkpoint fresh{.scaler = GoldenScaler()};
  group.Join("w0", fresh);
  group.Join("w1", fresh);
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(group.journal(), IsEmpty());
}

// N3: a scaler that never changes.
TEST(CheckpointTest, ABaseAloneIsReasonEnough) {
  const LossScaler scaler = *LossScaler::Static(8.0);
  GroupDriver group(GroupOf(1), scaler);
  const WorkerRef w0 = group.Join("w0");
  group.Send(w0, Verdict::kFinite);
  group.Join("w0", Checkpoint{.scaler = scaler}, 1);
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(group.state().base, Eq(0));
}

// N5: a session that was created again takes the old one's base over.
TEST(CheckpointTest, ABaseMayBeAnotherSessions) {
  GroupDriver group(GroupOf(1));
  const WorkerRef w0 = group.Join("w0", Saved(9, "old"));
  EXPECT_THAT(group.state().base_session_uid(), Eq("old"));
  EXPECT_THAT(group.Last().base_after_session_uid, Eq("old"));
  const CallId call = group.Send(w0, Verdict::kFinite);
  EXPECT_THAT(group.Answered(call), IsOk());
  EXPECT_THAT(group.Last().base_before_session_uid, Eq("old"));
  EXPECT_THAT(group.state().base_session_uid(), Eq("uid"));
  EXPECT_THAT(group.state().base, Eq(2));
}

// N8, and N7: nothing is decided before it is restored.
TEST(CheckpointTest, DifferentOnesKeepTheSessionClosedUntilOneIsPresented) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0", Saved(3, "a"));
  const CallId waiting = group.Send(w0, Verdict::kFinite);
  const WorkerRef w1 = group.Join("w1", Saved(4, "a"));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kCheckpointMismatch));
  EXPECT_THAT(group.Answered(waiting),
              IsErrorSaying(Reason::kCheckpointMismatch, "\"w0\""));
  EXPECT_THAT(group.core().MembershipOf(w1)->closed,
              IsErrorSaying(Reason::kCheckpointMismatch, "\"w1\""));
  EXPECT_THAT(group.Answered(group.Send(w1, Verdict::kFinite)),
              IsError(Reason::kCheckpointMismatch));
  EXPECT_THAT(group.journal(), IsEmpty());
  group.Restart();
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kCheckpointMismatch));
  EXPECT_THAT(group.Present(w1, Saved(3, "a")), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(group.Last().base_after, Eq(3));
}

TEST(CheckpointTest, LeavingResolvesAMismatchToo) {
  GroupDriver group(Elastic(2, 3));
  group.Join("w0", Saved(3, "a"));
  const WorkerRef w1 = group.Join("w1", Saved(4, "a"));
  group.Join("w2", Saved(3, "a"));
  EXPECT_THAT(group.Leave(w1), IsOk());
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
}

TEST(CheckpointTest, ABadOneIsRefusedAndAnEqualOneChangesNothing) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0", Saved(3, "a"));
  const auto before = group.Snapshot();
  EXPECT_THAT(group.Present(w0, {.scaler = LossScaler::None()}),
              IsError(Reason::kConfigMismatch));
  EXPECT_THAT(group.Present({"w0", 7}, Saved(3, "a")),
              IsError(Reason::kFenced));
  EXPECT_THAT(group.Present(w0, Saved(3, "a")), IsOk());
  EXPECT_TRUE(group.Snapshot() == before);
}

// A member that presents nothing stands for the session's own state.
TEST(CheckpointTest, OneMemberWithoutACheckpointKeepsTheSessionAsItIs) {
  GroupDriver group(GroupOf(2));
  group.Join("w0", Saved(3, "a"));
  const WorkerRef w1 = group.Join("w1");
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kOpen));
  EXPECT_THAT(group.journal(), IsEmpty());
  Vote vote = group.Suitable(Verdict::kFinite);
  EXPECT_THAT(group.AnswerTo(group.Send(w1, 1, vote)), IsNull());
  vote.base = 3;
  vote.base_session_uid = "a";
  EXPECT_THAT(group.Answered(group.Send({"w0", 1}, 1, vote)),
              IsError(Reason::kResync));
}

// N6: what was presented survives a killed server. N11: and an expiry, as the
// worker presents it in every join until its first decision.
TEST(CheckpointTest, APresentedOneSurvivesARestartWhileForming) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0", Saved(3, "a"));
  group.Restart();
  group.Advance(absl::Seconds(31));
  EXPECT_THAT(group.core().phase(), Eq(GroupPhase::kIdle));
  EXPECT_THAT(group.core().KeepAlive(w0, group.now()),
              IsError(Reason::kFenced));
  group.Join("w0", Saved(3, "a"));
  group.Restart();
  group.Join("w1", Saved(3, "a"));
  EXPECT_THAT(group.Last().base_after, Eq(3));
}

// N12: no vote is taken, so no time runs; the next attempt gets on.
TEST(CheckpointTest, ABaseThatNobodyHoldsIsLeftByTheNextAttempt) {
  GroupDriver group(GroupOf(1));
  WorkerRef w0 = group.Join("w0");
  const Vote outdated = group.Suitable(Verdict::kFinite);
  group.Send(w0, Verdict::kFinite);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(group.Answered(group.Send(w0, 2, outdated)),
                IsError(Reason::kResync));
    group.Advance(absl::Seconds(61), {w0});
  }
  EXPECT_THAT(group.journal(), SizeIs(1));
  w0 = group.Join("w0", Checkpoint{.scaler = GoldenScaler()}, 1);
  EXPECT_THAT(group.Answered(group.Send(w0, Verdict::kFinite)), IsOk());
}

// H5, H16.
TEST(RestoreTest, EndsTheOpenStepAndNumbersRise) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  const Vote outdated = group.Suitable(Verdict::kFinite);
  const CallId call = group.Send(w0, 1, outdated);
  const std::int64_t epoch = group.state().epoch;
  EXPECT_THAT(group.Restore(Saved(0).scaler, epoch), IsOk());
  EXPECT_THAT(group.Answered(call), IsOkAndHolds(Eq(group.Last())));
  EXPECT_THAT(group.Last().reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(group.Last().scale_after, Eq(32768.0));
  EXPECT_THAT(group.Last().request_id, Eq("restore"));
  EXPECT_THAT(group.state().step, Eq(2));
  EXPECT_THAT(group.state().base, Eq(1));
  EXPECT_THAT(group.state().epoch, Eq(epoch + 1));
  // Nobody's gradients from before count, whatever step they name.
  EXPECT_THAT(group.Answered(group.Send(w1, 1, outdated)),
              IsOkAndHolds(Eq(group.Last())));
  Vote vote = group.Suitable(Verdict::kFinite);
  vote.base = 0;
  EXPECT_THAT(group.Answered(group.Send(w1, 2, vote)),
              IsError(Reason::kResync));
  // The doubled call.
  const auto before = group.Snapshot();
  EXPECT_THAT(group.Restore(GoldenScaler(), epoch),
              IsError(Reason::kEpochMismatch));
  EXPECT_THAT(group.Restore(LossScaler::None()),
              IsError(Reason::kConfigMismatch));
  EXPECT_TRUE(group.Snapshot() == before);
}

TEST(RestoreTest, IsTheBoundaryForThoseWhoComeAndGo) {
  GroupDriver group(Elastic(1, 2));
  const WorkerRef w0 = group.Join("w0");
  const WorkerRef w1 = group.Join("w1");
  EXPECT_THAT(group.Restore(GoldenScaler()), IsOk());
  EXPECT_THAT(StateOf(group, w1), Eq(MemberState::kActive));
  EXPECT_THAT(StateOf(group, w0), Eq(MemberState::kActive));
}

// Its answer is stored: nobody needs to wait for the session to resume.
TEST(RestoreTest, WhileTheSessionIsPausedAnswersTheVoteOnItsStep) {
  GroupDriver group(GroupOf(2));
  const WorkerRef w0 = group.Join("w0");
  const CallId waiting = group.Send(w0, Verdict::kFinite);
  ASSERT_THAT(group.AnswerTo(waiting), IsNull());
  ASSERT_THAT(group.Restore(GoldenScaler()), IsOk());
  ASSERT_THAT(group.AnswerTo(waiting), Not(IsNull()));
  ASSERT_THAT(group.Answered(waiting), IsOk());
  EXPECT_THAT(group.Answered(waiting)->reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(group.Answered(waiting)->step, Eq(1));
}

// A pod that replaces a dead one under a new name need only wait.
TEST(JoinTest, AFullGroupSaysWhenAPlaceMayBeFree) {
  GroupDriver group(GroupOf(1));
  group.Join("w0");
  group.Advance(absl::Seconds(10));
  const absl::StatusOr<WorkerRef> refused =
      group.Join(JoinEvent{.worker = "w1", .request_id = "r"});
  EXPECT_THAT(refused, IsError(Reason::kTooManyWorkers));
  EXPECT_THAT(RetryDelayOf(refused.status()), Eq(absl::Seconds(20)));
  group.Advance(absl::Seconds(20));
  EXPECT_THAT(group.Join(JoinEvent{.worker = "w1", .request_id = "r"}), IsOk());
}

// A rank that comes and goes all day.
TEST(JoinTest, OneDepartureOfEachNameIsRemembered) {
  GroupDriver group(GroupOf(2));
  group.Join("w0");
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(group.Leave(group.Join("w1")), IsOk());
  }
  EXPECT_THAT(group.state().group->departed, SizeIs(1));
}

}  // namespace
}  // namespace lossscaler
