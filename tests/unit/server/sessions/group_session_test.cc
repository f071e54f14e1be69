// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Votes of a group session: who waits, who is told what, and when.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/server/sessions/group_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class GroupSessionTest : public GroupFixture {};

// ---- Joining ------------------------------------------------------------

TEST_F(GroupSessionTest, TheLastJoinFindsTheSessionOpen) {
  Create(GroupOf(2));
  const auto first = Join({.worker = "w0", .request_id = "a"});
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(first->membership.phase, Eq(GroupPhase::kPaused));
  EXPECT_THAT(first->membership.closed, IsError(Reason::kSessionPaused));
  EXPECT_THAT(first->lease_ttl, Eq(kTtl));
  EXPECT_THAT(first->resume_token, Eq("token-1"));
  const auto second = Join({.worker = "w1", .request_id = "b"});
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->membership.phase, Eq(GroupPhase::kOpen));
  EXPECT_THAT(second->membership.closed, IsOk());
  EXPECT_THAT(second->membership.state, Eq(MemberState::kActive));
  EXPECT_THAT(second->membership.current.step, Eq(1));
}

// Hole A1.
TEST_F(GroupSessionTest, ARepeatedJoinHasTheSameTokenAndTheCurrentStep) {
  const std::vector<WorkerRef> all = Group(1);
  Decide(all);
  const auto again = Join({.worker = "w0", .request_id = "join-w0"});
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->incarnation, Eq(all[0].incarnation));
  EXPECT_THAT(again->resume_token, Eq("token-1"));
  EXPECT_THAT(again->membership.current.step, Eq(2));
  EXPECT_THAT(again->last_decision->step, Eq(1));
}

TEST_F(GroupSessionTest, ANameIsHeldUnlessItsTokenIsShown) {
  const std::vector<WorkerRef> all = Group(2);
  EXPECT_THAT(Join({.worker = "w0", .request_id = "other"}),
              IsError(Reason::kWorkerHeld));
  EXPECT_THAT(
      Join({.worker = "w0", .request_id = "other", .resume_token = "token-2"}),
      IsError(Reason::kWorkerHeld));
}

TEST_F(GroupSessionTest, ATakeoverFencesTheOldOneAndVotesWithTheNextStep) {
  const std::vector<WorkerRef> all = Group(2);
  Answers peer;
  Cast(all[1], Verdict::kFinite, &peer);
  const auto taken =
      Join({.worker = "w0", .request_id = "again", .resume_token = "token-1"});
  ASSERT_THAT(taken, IsOk());
  // The loss of the old one ended the step, and the new one is in the next.
  ASSERT_THAT(peer.size(), Eq(1u));
  EXPECT_THAT(peer.at(0)->decision.outcome, Eq(Outcome::kSkip));
  EXPECT_THAT(peer.at(0)->decision.reason, Eq(DecisionReason::kWorkerLost));
  EXPECT_THAT(taken->membership.state, Eq(MemberState::kActive));
  EXPECT_THAT(taken->membership.current.step, Eq(2));
  EXPECT_THAT(KeepAlive(all[0]), IsError(Reason::kFenced));
  EXPECT_THAT(Answered(all[0], 2, Suitable(Verdict::kFinite)),
              IsError(Reason::kFenced));
  EXPECT_TRUE(Decide({{"w0", taken->incarnation}, all[1]}).apply());
}

TEST_F(GroupSessionTest, APresentedCheckpointOpensTheSessionRestored) {
  Create(GroupOf(2));
  LossScaler saved = GoldenScaler();
  saved.Update(true);
  const Checkpoint one{.scaler = saved, .base = {"old", 7}};
  const Checkpoint other{.scaler = saved, .base = {"old", 9}};
  const auto first =
      Join({.worker = "w0", .request_id = "a", .checkpoint = one});
  const auto second =
      Join({.worker = "w1", .request_id = "b", .checkpoint = other});
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->membership.phase, Eq(GroupPhase::kCheckpointMismatch));
  EXPECT_THAT(second->membership.closed, IsError(Reason::kCheckpointMismatch));
  const auto alive = KeepAlive({"w0", first->incarnation});
  ASSERT_THAT(alive, IsOk());
  EXPECT_THAT(alive->closed, IsError(Reason::kCheckpointMismatch));

  const auto opened = KeepAlive({"w1", second->incarnation}, one);
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(opened->phase, Eq(GroupPhase::kOpen));
  EXPECT_THAT(opened->current.scale, Eq(32768.0));
  EXPECT_THAT(opened->current.base, Eq(7));
  EXPECT_THAT(session_->Snapshot()->state.base_session_uid(), Eq("old"));
}

// ---- One decision -------------------------------------------------------

TEST_F(GroupSessionTest, EveryWorkerIsToldTheOneDecision) {
  const std::vector<WorkerRef> all = Group(4);
  const int before = store_.commits();
  Answers answers[4];
  for (int i = 0; i < 3; ++i) Cast(all[i], Verdict::kFinite, &answers[i]);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(answers[i].size(), Eq(0u));
  EXPECT_THAT(store_.commits(), Eq(before)) << "a vote alone is not written";
  Cast(all[3], Verdict::kFinite, &answers[3]);
  EXPECT_THAT(store_.commits(), Eq(before + 1));
  for (const Answers& one : answers) {
    ASSERT_THAT(one.size(), Eq(1u));
    ASSERT_THAT(one.at(0), IsOk());
    EXPECT_THAT(one.at(0)->decision, Eq(answers[0].at(0)->decision));
    EXPECT_TRUE(one.at(0)->decision.apply());
    // Votes are for the journal: told to all, they would grow with the square.
    EXPECT_THAT(one.at(0)->decision.votes, IsEmpty());
    EXPECT_THAT(one.at(0)->current.step, Eq(2));
    EXPECT_THAT(one.at(0)->current.base, Eq(1));
  }
  EXPECT_THAT(Last().votes, SizeIs(4));
}

TEST_F(GroupSessionTest, UpdateIsTheVoteOfTheWorkerItNames) {
  const std::vector<WorkerRef> all = Group(1);
  Vote vote = Suitable(Verdict::kFinite);
  vote.worker = "w0";
  vote.incarnation = all[0].incarnation;
  Answers unnumbered;
  session_->Update(std::nullopt, vote, unnumbered.Callback());
  EXPECT_THAT(unnumbered.at(0), IsError(Reason::kStepRequired));
  Answers answers;
  session_->Update(1, vote, answers.Callback());
  ASSERT_THAT(answers.size(), Eq(1u));
  ASSERT_THAT(answers.at(0), IsOk());
  EXPECT_THAT(Last().votes, SizeIs(1));
}

TEST_F(GroupSessionTest, AWaitingVoteThatIsRepeatedIsOneVoteWithTwoAnswers) {
  const std::vector<WorkerRef> all = Group(2);
  Answers first;
  Answers again;
  Answers other;
  Cast(all[0], Verdict::kFinite, &first);
  Cast(all[0], Verdict::kFinite, &again);
  EXPECT_THAT(again.size(), Eq(0u));
  Cast(all[1], Verdict::kFinite, &other);
  ASSERT_THAT(first.size(), Eq(1u));
  ASSERT_THAT(again.size(), Eq(1u));
  EXPECT_THAT(first.at(0)->decision, Eq(again.at(0)->decision));
  EXPECT_THAT(Last().votes, SizeIs(2));
}

TEST_F(GroupSessionTest, AVoteOnADecidedStepGetsThatDecision) {
  const std::vector<WorkerRef> all = Group(2);
  const Vote vote = Suitable(Verdict::kFinite);
  const Decision first = Decide(all);
  Decide(all);
  const int before = store_.commits();
  const auto again = Answered(all[0], 1, vote);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(WithoutVotes(first)));
  EXPECT_THAT(again->current.step, Eq(3));
  Vote changed = vote;
  changed.verdict = Verdict::kOverflow;
  EXPECT_THAT(Answered(all[0], 1, changed), IsError(Reason::kVoteConflict));
  EXPECT_THAT(Answered(all[0], 4, vote), IsError(Reason::kStepAhead));
  EXPECT_THAT(store_.commits(), Eq(before));
}

// Of a client that calls again and again the latest calls wait.
TEST_F(GroupSessionTest, FewCallsOfOneWorkerWaitAtOneTime) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers[kWaitingPerWorker + 1];
  for (Answers& one : answers) Cast(all[0], Verdict::kFinite, &one);
  ASSERT_THAT(answers[0].size(), Eq(1u));
  EXPECT_THAT(answers[0].at(0).status(), HasCode(absl::StatusCode::kCancelled));
  for (int i = 1; i <= kWaitingPerWorker; ++i) {
    EXPECT_THAT(answers[i].size(), Eq(0u)) << i;
  }
  Answers other;
  Cast(all[1], Verdict::kFinite, &other);
  for (int i = 1; i <= kWaitingPerWorker; ++i) {
    EXPECT_THAT(answers[i].at(0), IsOk()) << i;
  }
}

TEST_F(GroupSessionTest, AVoteThatMakesNoSenseIsASignOfLife) {
  const std::vector<WorkerRef> all = Group(1);
  Pass(kTtl - absl::Seconds(1));
  Vote vote = Suitable(Verdict::kFinite);
  vote.base.reset();
  EXPECT_THAT(Answered(all[0], 1, vote), IsError(Reason::kInvalidField));
  Pass(kTtl - absl::Seconds(1));
  EXPECT_THAT(KeepAlive(all[0]), IsOk());
}

// Its streams are those of the step; another step's are not looked at.
TEST_F(GroupSessionTest, ALateVoteDoesNotResolveAgainstTheOpenStep) {
  const std::vector<WorkerRef> all = Group(2);
  Vote late = Suitable(Verdict::kUnset);
  late.stream_ids = {"s"};
  Answers answers;
  Cast(all[0], Verdict::kOverflow, &answers);
  ASSERT_THAT(session_->OpenStream(all[1], 2, "s"), IsOk());
  session_->FinishStream(all[1], 2, "s", /*overflow=*/true,
                         {{.element_count = 1, .ranges = {{0, 1}}}});
  EXPECT_THAT(Answered(all[1], 1, late), IsOk());
  EXPECT_THAT(Look().members[1].late_overflow, Eq(std::nullopt));
}

TEST_F(GroupSessionTest, AnOverflowIsDecidedAtOnceAndALateVoteIsToldSo) {
  const std::vector<WorkerRef> all = Group(2);
  const Vote late = Suitable(Verdict::kOverflow);
  Answers answers;
  Cast(all[0], Verdict::kOverflow, &answers);
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0)->decision.outcome, Eq(Outcome::kSkipOverflow));
  const auto told = Answered(all[1], 1, late);
  ASSERT_THAT(told, IsOk());
  EXPECT_THAT(told->decision, Eq(answers.at(0)->decision));
  // Noted for whoever looks for the cause.
  EXPECT_THAT(Look().members[1].late_overflow, Optional(1));
}

TEST_F(GroupSessionTest, ACallThatIsGivenUpLeavesItsVote) {
  const std::vector<WorkerRef> all = Group(2);
  Answers given_up;
  PendingCall call = Cast(all[0], Verdict::kFinite, &given_up);
  call.Cancel();
  ASSERT_THAT(given_up.size(), Eq(1u));
  EXPECT_THAT(given_up.at(0).status(), HasCode(absl::StatusCode::kCancelled));
  Answers other;
  Cast(all[1], Verdict::kFinite, &other);
  ASSERT_THAT(other.size(), Eq(1u));
  EXPECT_THAT(Last().votes, SizeIs(2));
  call.Cancel();
  EXPECT_THAT(given_up.size(), Eq(1u));
}

TEST_F(GroupSessionTest, AVoteInAPausedSessionIsToldWhenItResumes) {
  Create(GroupOf(2));
  const WorkerRef w0 = MustJoin("w0");
  Answers answers;
  Cast(w0, Verdict::kFinite, &answers);
  EXPECT_THAT(answers.size(), Eq(0u));
  MustJoin("w1");
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0), IsError(Reason::kSessionPaused));
}

// Hole A4.
TEST_F(GroupSessionTest, AVoteInAPausedSessionIsToldAfterStepTimeout) {
  Create(GroupOf(2));
  const WorkerRef w0 = MustJoin("w0");
  Answers answers;
  Cast(w0, Verdict::kFinite, &answers);
  Pass(kTtl - absl::Seconds(1));
  ASSERT_THAT(KeepAlive(w0), IsOk());
  Pass(kTtl - absl::Seconds(1));
  ASSERT_THAT(KeepAlive(w0), IsOk());
  Pass(absl::Seconds(1));
  EXPECT_THAT(answers.size(), Eq(0u));
  Pass(absl::Seconds(1));
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0), IsError(Reason::kSessionPaused));
}

TEST_F(GroupSessionTest, ARestoreAnswersWhoWaits) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Cast(all[0], Verdict::kFinite, &answers);
  Caught<RestoreAnswer> restored;
  session_->Restore(GoldenScaler(), std::nullopt, "restore-1",
                    restored.Callback());
  ASSERT_THAT(restored.at(0), IsOk());
  EXPECT_THAT(restored.at(0)->snapshot.members, SizeIs(2));
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0)->decision, Eq(restored.at(0)->decision));
  EXPECT_THAT(answers.at(0)->decision.reason, Eq(DecisionReason::kRestored));
  // The doubled call is answered by its request id.
  Caught<RestoreAnswer> again;
  session_->Restore(GoldenScaler(), 1, "restore-1", again.Callback());
  ASSERT_THAT(again.at(0), IsOk());
  EXPECT_THAT(again.at(0)->decision, Eq(restored.at(0)->decision));
  EXPECT_THAT(Step(), Eq(2));
}

TEST_F(GroupSessionTest, ALeaverAbstains) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Cast(all[0], Verdict::kFinite, &answers);
  EXPECT_THAT(Leave(all[1]), IsOk());
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_TRUE(answers.at(0)->decision.apply());
  EXPECT_THAT(Leave(all[1]), IsError(Reason::kFenced));
  EXPECT_THAT(Look().phase, Optional(GroupPhase::kPaused));
}

// ---- Time ---------------------------------------------------------------

TEST_F(GroupSessionTest, ADeadWorkerIsAnsweredForWhenItsLeaseRunsOut) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Pass(absl::Seconds(20));
  Cast(all[0], Verdict::kFinite, &answers);
  Pass(absl::Seconds(10) - absl::Milliseconds(1));
  EXPECT_THAT(answers.size(), Eq(0u));
  // Nothing happens but that time passes.
  Pass(absl::Milliseconds(1));
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0)->decision.reason, Eq(DecisionReason::kWorkerLost));
  EXPECT_THAT(answers.at(0)->decision.lost, ElementsAre("w1"));
}

TEST_F(GroupSessionTest, ALeaseThatWasRenewedRunsFromThen) {
  const std::vector<WorkerRef> all = Group(2);
  Pass(kTtl - absl::Seconds(1));
  for (const WorkerRef& worker : all) ASSERT_THAT(KeepAlive(worker), IsOk());
  Pass(kTtl - absl::Seconds(1));
  EXPECT_THAT(Look().members, SizeIs(2));
  EXPECT_THAT(Look().members[0].lease_left, Eq(absl::Seconds(1)));
  ASSERT_THAT(KeepAlive(all[0]), IsOk());
  Pass(absl::Seconds(1));
  EXPECT_THAT(KeepAlive(all[0]), IsOk());
  EXPECT_THAT(KeepAlive(all[1]), IsError(Reason::kFenced));
}

// Hole A6.
TEST_F(GroupSessionTest, WhatIsDueComesBeforeALateVote) {
  const std::vector<WorkerRef> all = Group(2);
  const Vote vote = Suitable(Verdict::kFinite);
  Pass(absl::Seconds(20));
  ASSERT_THAT(KeepAlive(all[1]), IsOk());
  // The alarm does not ring.
  monotonic_ += absl::Seconds(10);
  EXPECT_THAT(Answered(all[0], 1, vote), IsError(Reason::kFenced));
  EXPECT_THAT(Step(), Eq(2));
}

TEST_F(GroupSessionTest, AStepTimeoutEndsAStepWhoseWorkersAreAllAlive) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Cast(all[0], Verdict::kFinite, &answers);
  for (int i = 0; i < 3; ++i) {
    Pass(absl::Seconds(20) - absl::Milliseconds(i == 2 ? 1 : 0));
    for (const WorkerRef& worker : all) ASSERT_THAT(KeepAlive(worker), IsOk());
  }
  EXPECT_THAT(answers.size(), Eq(0u));
  Pass(absl::Milliseconds(1));
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0)->decision.reason, Eq(DecisionReason::kTimeout));
}

TEST_F(GroupSessionTest, AJumpOfTheWallClockDoesNothing) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Cast(all[0], Verdict::kFinite, &answers);
  wall_ += absl::Hours(1000);
  registry_->RingDue();
  wall_ -= absl::Hours(2000);
  registry_->RingDue();
  EXPECT_THAT(answers.size(), Eq(0u));
  EXPECT_THAT(KeepAlive(all[1]), IsOk());
}

// ---- Endings ------------------------------------------------------------

TEST_F(GroupSessionTest, ADrainAnswersWhoWaitsAndWhoComesToWait) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Caught<Membership> changes;
  Cast(all[0], Verdict::kFinite, &answers);
  session_->Follow(all[0], changes.Callback());
  const absl::Status draining = MakeRetryableError(
      Reason::kDraining, "the server ends; call again", absl::Seconds(1));
  registry_->Drain(draining);
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0), IsError(Reason::kDraining));
  ASSERT_THAT(changes.size(), Eq(2u));
  EXPECT_THAT(changes.at(1), IsError(Reason::kDraining));
  EXPECT_THAT(Answered(all[1], 1, Suitable(Verdict::kFinite)),
              IsError(Reason::kDraining));
  Pass(absl::Hours(1));
  EXPECT_THAT(store_.commits(), Eq(4)) << "a create, two joins, one opening";

  // The votes can be repeated after the restart.
  Restart();
  EXPECT_TRUE(Decide(all).apply());
}

TEST_F(GroupSessionTest, ADeletionAnswersWhoWaits) {
  const std::vector<WorkerRef> all = Group(2);
  Answers answers;
  Caught<Membership> changes;
  Cast(all[0], Verdict::kFinite, &answers);
  session_->Follow(all[1], changes.Callback());
  std::vector<absl::Status> deleted;
  registry_->Delete("run", "", "delete-1",
                    [&](absl::Status s) { deleted.push_back(s); });
  EXPECT_THAT(deleted, ElementsAre(IsOk()));
  ASSERT_THAT(answers.size(), Eq(1u));
  EXPECT_THAT(answers.at(0), IsError(Reason::kSessionNotFound));
  ASSERT_THAT(changes.size(), Eq(2u));
  EXPECT_THAT(changes.at(1), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(KeepAlive(all[0]), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(Join({.worker = "w0", .request_id = "x"}),
              IsError(Reason::kSessionNotFound));
  Pass(absl::Hours(2));
}

TEST_F(GroupSessionTest, ARestartKeepsIncarnationsAndExtendsLeases) {
  const std::vector<WorkerRef> all = Group(2);
  const Vote old = Suitable(Verdict::kFinite);
  const Decision first = Decide(all);
  Answers lost;
  Cast(all[0], Verdict::kFinite, &lost);
  Pass(kTtl - absl::Seconds(1));
  Restart();
  // R11: one TTL from now on.
  Pass(kTtl - absl::Seconds(1));
  EXPECT_THAT(Look().members, SizeIs(2));
  EXPECT_THAT(Look().members[0].vote, Eq(std::nullopt));
  EXPECT_THAT(lost.size(), Eq(0u));
  const auto again = Answered(all[0], 1, old);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(WithoutVotes(first)));
  EXPECT_TRUE(Decide(all).apply());
  const auto joined = Join({.worker = "w0", .request_id = "join-w0"});
  ASSERT_THAT(joined, IsOk());
  EXPECT_THAT(joined->incarnation, Eq(all[0].incarnation));
}

TEST_F(GroupSessionTest, AfterARestartTheLeasesRunOutByThemselves) {
  Group(2);
  Restart();
  Pass(kTtl);
  EXPECT_THAT(Look().members, IsEmpty());
  EXPECT_THAT(Look().phase, Optional(GroupPhase::kIdle));
  EXPECT_THAT(Look().last_decision->reason, Eq(DecisionReason::kNoWorkers));
}

// ---- Followers ----------------------------------------------------------

TEST_F(GroupSessionTest, AFollowerHearsOfActivationAndOfPhases) {
  GroupConfig config = GroupOf(1);
  config.max_workers = 2;
  Create(config);
  const WorkerRef w0 = MustJoin("w0");
  const auto joined = Join({.worker = "w1", .request_id = "b"});
  ASSERT_THAT(joined, IsOk());
  EXPECT_THAT(joined->membership.state, Eq(MemberState::kPending));
  const WorkerRef w1{"w1", joined->incarnation};
  Caught<Membership> changes;
  session_->Follow(w1, changes.Callback());
  ASSERT_THAT(changes.size(), Eq(1u));
  EXPECT_THAT(changes.at(0)->state, Eq(MemberState::kPending));
  EXPECT_THAT(Answered(w1, 1, Suitable(Verdict::kFinite)),
              IsError(Reason::kNotActive));

  Decide({w0});
  ASSERT_THAT(changes.size(), Eq(2u));
  EXPECT_THAT(changes.at(1)->state, Eq(MemberState::kActive));
  EXPECT_THAT(changes.at(1)->current.step, Eq(2));
  // A step in which nobody comes or goes is no news.
  Decide({w0, w1});
  EXPECT_THAT(changes.size(), Eq(2u));

  ASSERT_THAT(Leave(w1), IsOk());
  ASSERT_THAT(changes.size(), Eq(3u));
  EXPECT_THAT(changes.at(2), IsError(Reason::kFenced));
  Decide({w0});
  EXPECT_THAT(changes.size(), Eq(3u));
}

TEST_F(GroupSessionTest, AFollowerThatIsGivenUpHearsNoMore) {
  const std::vector<WorkerRef> all = Group(2);
  Caught<Membership> changes;
  PendingCall call = session_->Follow(all[0], changes.Callback());
  call.Cancel();
  ASSERT_THAT(changes.size(), Eq(2u));
  EXPECT_THAT(changes.at(1).status(), HasCode(absl::StatusCode::kCancelled));
  ASSERT_THAT(Leave(all[0]), IsOk());
  EXPECT_THAT(changes.size(), Eq(2u));
}

// ---- Streams ------------------------------------------------------------

TEST_F(GroupSessionTest, EveryWorkerHasItsOwnStreams) {
  const std::vector<WorkerRef> all = Group(2);
  for (const WorkerRef& worker : all) {
    ASSERT_THAT(session_->OpenStream(worker, 1, "s"), IsOk());
    session_->FinishStream(
        worker, 1, "s", /*overflow=*/worker.worker == "w1",
        {{.name = "w", .element_count = 4, .ranges = {{0, 4}}}});
  }
  ASSERT_THAT(session_->OpenStream(all[1], 1, "only-w1"), IsOk());
  session_->FinishStream(all[1], 1, "only-w1", false, {});
  Vote vote = Suitable(Verdict::kUnset);
  vote.stream_ids = {"only-w1"};
  EXPECT_THAT(Answered(all[0], 1, vote), IsError(Reason::kVerdictLost));
  vote.stream_ids = {"s"};
  Answers first;
  Answers second;
  session_->CastVote(all[0], 1, vote, first.Callback());
  EXPECT_THAT(first.size(), Eq(0u)) << "its own streams are finite";
  session_->CastVote(all[1], 1, vote, second.Callback());
  ASSERT_THAT(second.size(), Eq(1u));
  EXPECT_THAT(second.at(0)->decision.outcome, Eq(Outcome::kSkipOverflow));
  // The step's streams are forgotten with it.
  EXPECT_THAT(session_->OpenStream(all[0], 2, "s"), IsOk());
}

TEST_F(GroupSessionTest, AStreamNamesALiveMemberAndRenewsItsLease) {
  const std::vector<WorkerRef> all = Group(2);
  EXPECT_THAT(session_->OpenStream({}, 1, "s"), IsError(Reason::kFenced));
  EXPECT_THAT(session_->OpenStream({"w1", all[0].incarnation}, 1, "s"),
              IsError(Reason::kFenced));
  EXPECT_THAT(session_->ScaleOf(std::nullopt), IsError(Reason::kStepRequired));
  EXPECT_THAT(session_->ScaleOf(1), IsOk());
  Pass(kTtl - absl::Seconds(1));
  EXPECT_THAT(session_->OpenStream(all[0], 1, "s"), IsOk());
  EXPECT_THAT(Look().members[0].lease_left, Eq(kTtl));
}

// ---- Kinds and configurations -------------------------------------------

TEST_F(GroupSessionTest, ASoloSessionHasNoWorkers) {
  Caught<Registry::Created> created;
  registry_->Create({.name = "run", .config = GoldenScaler()},
                    created.Callback());
  session_ = created.at(0)->session;
  const WorkerRef worker{"w0", 1};
  EXPECT_THAT(Join({.worker = "w0", .request_id = "a"}),
              IsError(Reason::kWrongKind));
  EXPECT_THAT(KeepAlive(worker), IsError(Reason::kWrongKind));
  EXPECT_THAT(Leave(worker), IsError(Reason::kWrongKind));
  EXPECT_THAT(Answered(worker, 1, VoteOf(Verdict::kFinite)),
              IsError(Reason::kWrongKind));
  Vote vote;
  vote.verdict = Verdict::kFinite;
  vote.worker = "w0";
  Answers answers;
  session_->Update(1, vote, answers.Callback());
  EXPECT_THAT(answers.at(0), IsError(Reason::kWrongKind));
  EXPECT_THAT(session_->OpenStream(worker, 1, "s"),
              IsError(Reason::kWrongKind));
  Caught<Membership> changes;
  session_->Follow(worker, changes.Callback());
  EXPECT_THAT(changes.at(0), IsError(Reason::kWrongKind));
  EXPECT_THAT(Step(), Eq(1));
}

TEST_F(GroupSessionTest, TheGroupIsPartOfTheConfigurationThatIsCompared) {
  Create(GroupOf(2));
  const auto create = [&](std::optional<GroupConfig> group) {
    Registry::CreateRequest request = Request(GroupOf(2));
    request.group = group;
    request.return_if_equal = true;
    Caught<Registry::Created> created;
    registry_->Create(request, created.Callback());
    return created.at(0);
  };
  EXPECT_THAT(create(GroupOf(2)), IsOk());
  EXPECT_THAT(create(GroupOf(3)), IsError(Reason::kConfigMismatch));
  EXPECT_THAT(create(std::nullopt), IsError(Reason::kConfigMismatch));
  GroupConfig invalid = GroupOf(2);
  invalid.min_workers = 3;
  EXPECT_THAT(create(invalid), IsError(Reason::kInvalidGroup));
}

}  // namespace
}  // namespace lossscaler::server
