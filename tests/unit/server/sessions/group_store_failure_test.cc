// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A group session whose store fails: what is told, and what is left.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/server/sessions/group_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class GroupStoreFailureTest : public GroupFixture {
 protected:
  // Both workers of a group have voted, and the store did that to the decision.
  void VoteAll(Fault fault) {
    all_ = Group(2);
    before_ = session_->Snapshot()->state;
    store_.FailNextWrite(fault);
    Cast(all_[0], Verdict::kFinite, &first_);
    Cast(all_[1], Verdict::kFinite, &second_);
  }

  std::vector<WorkerRef> all_;
  SessionState before_;
  Answers first_;
  Answers second_;
};

TEST_F(GroupStoreFailureTest, ADecisionThatIsNotWrittenIsToldToNobody) {
  std::unique_ptr<DecisionWatch> watch;
  VoteAll(Fault::kNotWritten);
  watch = *session_->Watch(1);
  Caught<Decision> watched;
  watch->Next(watched.Callback());
  ASSERT_THAT(first_.size(), Eq(1u));
  ASSERT_THAT(second_.size(), Eq(1u));
  EXPECT_THAT(first_.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(second_.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(RetryDelayOf(first_.at(0).status()), Optional(kRetryDelay));
  EXPECT_THAT(session_->Snapshot()->state, Eq(before_));
  EXPECT_THAT(watched.size(), Eq(0u));

  // Both votes are still in: one repeated call has the decision.
  const auto again = Answered(all_[0], 1, Suitable(Verdict::kFinite));
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(Last().votes, SizeIs(2));
  EXPECT_THAT(watched.size(), Eq(1u));
}

TEST_F(GroupStoreFailureTest, ADecisionThatIsNotWrittenIsTriedAgainByItself) {
  VoteAll(Fault::kNotWritten);
  const int commits = store_.commits();
  Pass(kRetryDelay - absl::Milliseconds(1));
  EXPECT_THAT(store_.commits(), Eq(commits));
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(store_.commits(), Eq(commits + 1));
  EXPECT_THAT(Step(), Eq(2));
}

TEST_F(GroupStoreFailureTest, AVoteThatMeetsAFailingStoreIsRecordedByNobody) {
  VoteAll(Fault::kNotWritten);
  store_.FailNextWrite(Fault::kNotWritten);
  // The decision that is due comes before the call, and fails again.
  EXPECT_THAT(Answered(all_[0], 1, Suitable(Verdict::kFinite)),
              IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Step(), Eq(1));
}

TEST_F(GroupStoreFailureTest, ADecisionThatWasWrittenAfterAllIsTold) {
  VoteAll(Fault::kWrittenUnknown);
  ASSERT_THAT(first_.size(), Eq(1u));
  ASSERT_THAT(first_.at(0), IsOk());
  ASSERT_THAT(second_.at(0), IsOk());
  EXPECT_THAT(first_.at(0)->decision, Eq(second_.at(0)->decision));
  EXPECT_TRUE(first_.at(0)->decision.apply());
  EXPECT_TRUE(Decide(all_).apply());
}

TEST_F(GroupStoreFailureTest, ADecisionThatWasLostAfterAllIsNotTold) {
  VoteAll(Fault::kLostUnknown);
  EXPECT_THAT(first_.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(second_.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(session_->Snapshot()->state, Eq(before_));
  const auto again = Answered(all_[1], 1, Suitable(Verdict::kFinite));
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(Last().votes, SizeIs(2));
}

// Hole A8.
TEST_F(GroupStoreFailureTest, WhileNobodyKnowsNoEventIsTaken) {
  for (const Fault fault : {Fault::kWrittenUnknown, Fault::kLostUnknown}) {
    SCOPED_TRACE(static_cast<int>(fault));
    const bool written = fault == Fault::kWrittenUnknown;
    all_ = Group(2);
    const Vote vote = Suitable(Verdict::kFinite);
    Answers first;
    Answers second;
    Cast(all_[0], Verdict::kFinite, &first);
    store_.FailNextWrite(fault);
    store_.FailReads(true);
    Cast(all_[1], Verdict::kFinite, &second);
    EXPECT_THAT(first.at(0), IsError(Reason::kStoreUnavailable));
    EXPECT_THAT(second.at(0), IsError(Reason::kStoreUnavailable));
    EXPECT_THAT(KeepAlive(all_[0]), IsError(Reason::kStoreUnavailable));
    const int commits = store_.commits();
    EXPECT_THAT(Answered(all_[0], 1, vote), IsError(Reason::kStoreUnavailable));
    EXPECT_THAT(Leave(all_[0]), IsError(Reason::kStoreUnavailable));
    // Longer than a lease: nobody could renew it meanwhile.
    Pass(kTtl * 2);
    EXPECT_THAT(store_.commits(), Eq(commits));

    store_.FailReads(false);
    Pass(kRetryDelay);
    EXPECT_THAT(Step(), Eq(written ? 2 : 1));
    EXPECT_THAT(Look().members, SizeIs(2));
    Answers again;
    session_->CastVote(all_[0], 1, vote, again.Callback());
    if (!written) session_->CastVote(all_[1], 1, vote, [](const auto&) {});
    ASSERT_THAT(again.size(), Eq(1u));
    ASSERT_THAT(again.at(0), IsOk());
    EXPECT_TRUE(again.at(0)->decision.apply());
    std::vector<absl::Status> deleted;
    registry_->Delete("run", "", "",
                      [&](absl::Status s) { deleted.push_back(s); });
  }
}

TEST_F(GroupStoreFailureTest, AJoinThatIsNotWrittenHasNotHappened) {
  Create(GroupOf(1));
  store_.FailNextWrite(Fault::kNotWritten);
  const JoinEvent join{.worker = "w0", .request_id = "a"};
  EXPECT_THAT(Join(join), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Look().members, IsEmpty());
  const auto again = Join(join);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->incarnation, Eq(1));
}

TEST_F(GroupStoreFailureTest, AJoinThatWasWrittenAfterAllIsTold) {
  Create(GroupOf(1));
  store_.FailNextWrite(Fault::kWrittenUnknown);
  const auto joined = Join({.worker = "w0", .request_id = "a"});
  ASSERT_THAT(joined, IsOk());
  EXPECT_TRUE(Decide({{"w0", joined->incarnation}}).apply());
}

TEST_F(GroupStoreFailureTest, WhoWaitsGoesOnWaitingWhenAnotherCallFails) {
  all_ = Group(2);
  Cast(all_[0], Verdict::kFinite, &first_);
  store_.FailNextWrite(Fault::kNotWritten);
  EXPECT_THAT(Leave(all_[1]), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(first_.size(), Eq(0u));
  Cast(all_[1], Verdict::kFinite, &second_);
  ASSERT_THAT(first_.size(), Eq(1u));
  EXPECT_TRUE(first_.at(0)->decision.apply());
}

// An outage of the store is no reason to lose workers that are alive.
TEST_F(GroupStoreFailureTest, ALeaseIsRenewedWhileNothingCanBeWritten) {
  all_ = Group(2);
  // w1 expires, which cannot be written; w0 stays alive for all that.
  Pass(kTtl - absl::Seconds(1));
  ASSERT_THAT(KeepAlive(all_[0]), IsOk());
  for (int i = 0; i < 3; ++i) store_.FailNextWrite(Fault::kNotWritten);
  Pass(absl::Seconds(1));
  EXPECT_THAT(KeepAlive(all_[0]), IsOk());
  EXPECT_THAT(Look().members, SizeIs(2));
  Pass(kRetryDelay);
  EXPECT_THAT(KeepAlive(all_[0]), IsOk());
  EXPECT_THAT(KeepAlive(all_[1]), IsError(Reason::kFenced));
}

TEST_F(GroupStoreFailureTest, NothingIsAnsweredBeforeTheStoreHasAnswered) {
  all_ = Group(2);
  store_.Hold();
  Cast(all_[0], Verdict::kFinite, &first_);
  Cast(all_[1], Verdict::kFinite, &second_);
  EXPECT_THAT(store_.held(), Eq(1));
  EXPECT_THAT(first_.size(), Eq(0u));
  EXPECT_THAT(Step(), Eq(1));
  EXPECT_THAT(session_->ListDecisions({}), IsOk());
  EXPECT_THAT(*session_->ListDecisions({}), IsEmpty());
  // Events wait for their turn.
  Answers next;
  Vote vote = Suitable(Verdict::kFinite);
  vote.base = 1;
  session_->CastVote(all_[0], 2, vote, next.Callback());
  EXPECT_THAT(next.size(), Eq(0u));
  store_.Release();
  EXPECT_THAT(first_.size(), Eq(1u));
  EXPECT_THAT(second_.size(), Eq(1u));
  EXPECT_THAT(next.size(), Eq(0u)) << "it waits for the other vote";
  EXPECT_THAT(Look().members[0].vote.has_value(), Eq(true));
}

TEST_F(GroupStoreFailureTest, ACreationThatWasWrittenAfterAllIsAGroup) {
  store_.FailNextWrite(Fault::kWrittenUnknown);
  Create(GroupOf(1));
  EXPECT_TRUE(Decide({MustJoin("w0")}).apply());
}

}  // namespace
}  // namespace lossscaler::server
