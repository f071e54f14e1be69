// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/session.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/solo.h"
#include "store/memory_store.h"
#include "testing/caught.h"
#include "testing/faulty_store.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::Caught;
using ::lossscaler::testing::FaultyStore;
using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::Eq;
using ::testing::Gt;
using ::testing::Optional;
using ::testing::SizeIs;

using Fault = FaultyStore::Fault;

constexpr std::int64_t kLedgerBytes = 1 << 20;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() { session_ = Created(); }

  std::shared_ptr<Session> Created() {
    auto session = std::make_shared<Session>("run", &environment_);
    Caught<absl::StatusOr<SessionSnapshot>> created;
    session->Create(Initial(), created.Callback());
    EXPECT_THAT(created.size(), Eq(1u));
    EXPECT_THAT(created.at(0), IsOk());
    return session;
  }

  static SessionState Initial() {
    return NewSession("run", "uid-1", GoldenScaler(), "create-1",
                      absl::UnixEpoch());
  }

  // What a server finds when it starts again on the same store.
  std::shared_ptr<Session> Restarted() {
    absl::StatusOr<std::vector<StoredSession>> stored = memory_.LoadAll();
    EXPECT_THAT(stored, IsOk());
    EXPECT_THAT(*stored, SizeIs(1));
    return std::make_shared<Session>((*stored)[0], &environment_);
  }

  absl::StatusOr<UpdateAnswer> Update(std::optional<std::int64_t> step,
                                      Vote vote) {
    vote.resolved = Verdict::kUnset;
    Caught<absl::StatusOr<UpdateAnswer>> caught;
    session_->Update(step, std::move(vote), caught.Callback());
    EXPECT_THAT(caught.size(), Eq(1u));
    return caught.at(0);
  }
  absl::StatusOr<UpdateAnswer> Update(std::optional<std::int64_t> step,
                                      Verdict verdict) {
    return Update(step, VoteOf(verdict));
  }

  absl::StatusOr<RestoreAnswer> Restore(std::optional<std::int64_t> if_epoch,
                                        std::string request_id) {
    Caught<absl::StatusOr<RestoreAnswer>> caught;
    session_->Restore(GoldenScaler(), if_epoch, request_id, caught.Callback());
    EXPECT_THAT(caught.size(), Eq(1u));
    return caught.at(0);
  }

  absl::StatusOr<SessionSnapshot> Look() {
    Caught<absl::StatusOr<SessionSnapshot>> caught;
    session_->Look(caught.Callback());
    EXPECT_THAT(caught.size(), Eq(1u));
    return caught.at(0);
  }

  std::int64_t Step() { return session_->Snapshot()->state.step; }

  void DecideMany(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_THAT(Update(Step(), Verdict::kFinite), IsOk());
    }
  }

  void FinishStream(std::int64_t step, const std::string& id, bool overflow) {
    ASSERT_THAT(session_->OpenStream({}, step, id), IsOk());
    session_->FinishStream(
        {}, step, id, overflow,
        {{.name = "w", .element_count = 4, .ranges = {{0, 4}}}});
  }

  static Vote StreamVote(std::vector<std::string> ids) {
    Vote vote;
    vote.stream_ids = std::move(ids);
    return vote;
  }

  MemoryStore memory_;
  FaultyStore store_{&memory_};
  ByteBudget budget_{kLedgerBytes};
  Session::Environment environment_{
      .store = &store_,
      .ledger_budget = &budget_,
      .now = [] { return absl::FromUnixSeconds(1'800'000'000); },
      .retry_delay = absl::Milliseconds(1500)};
  std::shared_ptr<Session> session_;
};

// ---- Deciding and replaying ---------------------------------------------

TEST_F(SessionTest, AVoteOnTheOpenStepDecidesIt) {
  const absl::StatusOr<UpdateAnswer> answer = Update(1, Verdict::kFinite);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->decision.step, Eq(1));
  EXPECT_TRUE(answer->decision.apply());
  EXPECT_THAT(answer->current,
              Eq(Current{.step = 2, .scale = 65536.0, .base = 1, .epoch = 1}));
  EXPECT_THAT(session_->Snapshot()->state.current(), Eq(answer->current));
  EXPECT_THAT(session_->Snapshot()->last_decision, Optional(answer->decision));
}

TEST_F(SessionTest, ARepeatedVoteGetsTheSameDecisionAndTheCurrentState) {
  const absl::StatusOr<UpdateAnswer> first = Update(1, Verdict::kOverflow);
  ASSERT_THAT(Update(2, Verdict::kFinite), IsOk());
  const absl::StatusOr<UpdateAnswer> again = Update(1, Verdict::kOverflow);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  EXPECT_THAT(again->current,
              Eq(Current{.step = 3, .scale = 32768.0, .base = 2, .epoch = 1}));
  EXPECT_THAT(session_->Snapshot()->state.attempted(), Eq(2));
}

// Hole M5.
TEST_F(SessionTest, AnotherVoteOnADecidedStepIsAConflict) {
  ASSERT_THAT(Update(1, Verdict::kFinite), IsOk());
  EXPECT_THAT(Update(1, Verdict::kOverflow), IsError(Reason::kVoteConflict));
  EXPECT_THAT(Step(), Eq(2));
}

TEST_F(SessionTest, AHigherStepIsAhead) {
  EXPECT_THAT(Update(2, Verdict::kFinite), IsError(Reason::kStepAhead));
  EXPECT_THAT(session_->ScaleOf(2), IsError(Reason::kStepAhead));
}

TEST_F(SessionTest, ARefusedVoteWritesNothing) {
  const int commits = store_.commits();
  Vote vote = VoteOf(Verdict::kFinite);
  vote.base = 5;
  EXPECT_THAT(Update(1, vote), IsError(Reason::kResync));
  EXPECT_THAT(store_.commits(), Eq(commits));
  EXPECT_THAT(session_->Snapshot()->state, Eq(Initial()));
}

TEST_F(SessionTest, DecisionsOlderThanTheMemoryComeFromTheStore) {
  const absl::StatusOr<UpdateAnswer> first = Update(1, Verdict::kOverflow);
  DecideMany(kDecisionsInMemory);
  // Step 1 is the 65th from the end.
  absl::StatusOr<UpdateAnswer> again = Update(1, Verdict::kOverflow);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  EXPECT_THAT(Update(1, Verdict::kFinite), IsError(Reason::kVoteConflict));
  // Step 2 is the 64th: no read is needed.
  store_.FailReads(true);
  EXPECT_THAT(Update(2, Verdict::kFinite), IsOk());
  EXPECT_THAT(Update(1, Verdict::kOverflow),
              IsError(Reason::kStoreUnavailable));
}

TEST_F(SessionTest, OnlyTheLast1024DecisionsCanBeAskedFor) {
  DecideMany(kReplayableDecisions);
  EXPECT_THAT(Update(1, Verdict::kFinite), IsOk());
  EXPECT_THAT(session_->ScaleOf(1), IsOk());
  DecideMany(1);
  EXPECT_THAT(Update(1, Verdict::kFinite), IsError(Reason::kStepForgotten));
  EXPECT_THAT(session_->ScaleOf(1), IsError(Reason::kStepForgotten));
  EXPECT_THAT(Update(2, Verdict::kFinite), IsOk());
}

TEST_F(SessionTest, ADecisionIsReplayedAfterARestart) {
  const absl::StatusOr<UpdateAnswer> first = Update(1, Verdict::kFinite);
  session_ = Restarted();
  const absl::StatusOr<UpdateAnswer> again = Update(1, Verdict::kFinite);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
}

// Hole M2.
TEST_F(SessionTest, AVoteWithoutAStepIsIdentifiedByItsRequest) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.request_id = "r1";
  const absl::StatusOr<UpdateAnswer> first = Update(std::nullopt, vote);
  ASSERT_THAT(first, IsOk());
  const absl::StatusOr<UpdateAnswer> again = Update(std::nullopt, vote);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  EXPECT_THAT(Step(), Eq(2));
  Vote other = VoteOf(Verdict::kOverflow);
  other.request_id = "r1";
  EXPECT_THAT(Update(std::nullopt, other), IsError(Reason::kVoteConflict));
  other.request_id = "r2";
  EXPECT_THAT(Update(std::nullopt, other), IsOk());
  EXPECT_THAT(Step(), Eq(3));
}

TEST_F(SessionTest, ARequestIsFoundInTheJournalToo) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.request_id = "r1";
  const absl::StatusOr<UpdateAnswer> first = Update(std::nullopt, vote);
  DecideMany(kDecisionsInMemory);
  const absl::StatusOr<UpdateAnswer> again = Update(std::nullopt, vote);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  // If it cannot be looked up, it must not be decided a second time.
  store_.FailReads(true);
  EXPECT_THAT(Update(std::nullopt, vote), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Step(), Eq(kDecisionsInMemory + 2));
}

// As the journal finds it.
TEST_F(SessionTest, TheLatestDecisionOfARequestIsFound) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.request_id = "r1";
  ASSERT_THAT(Update(1, vote), IsOk());
  const absl::StatusOr<UpdateAnswer> later = Update(2, vote);
  ASSERT_THAT(later, IsOk());
  ASSERT_THAT(later->decision.step, Eq(2));
  const absl::StatusOr<UpdateAnswer> again = Update(std::nullopt, vote);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(later->decision));
  DecideMany(kDecisionsInMemory);
  const absl::StatusOr<UpdateAnswer> read = Update(std::nullopt, vote);
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->decision, Eq(later->decision));
}

// An abstention may name any base, so that whose base it is must not decide
// whether two of them are the same: the journal does not know it.
TEST_F(SessionTest, ARepeatedVoteHearsTheSameBeforeAndAfterARestart) {
  Vote abstain = VoteOf(Verdict::kAbstain);
  abstain.base = 7;
  abstain.base_session_uid = "uid-0";
  Vote finite = VoteOf(Verdict::kFinite);
  finite.base = 0;
  finite.base_session_uid = "uid-1";
  Vote foreign = finite;
  foreign.base_session_uid = "uid-0";
  const absl::StatusOr<UpdateAnswer> first = Update(1, abstain);
  const absl::StatusOr<UpdateAnswer> second = Update(2, finite);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  for (const char* const when : {"before", "after"}) {
    SCOPED_TRACE(when);
    for (const char* const uid : {"uid-0", "uid-1", "uid-2", ""}) {
      abstain.base_session_uid = uid;
      const absl::StatusOr<UpdateAnswer> again = Update(1, abstain);
      ASSERT_THAT(again, IsOk());
      EXPECT_THAT(again->decision, Eq(first->decision));
    }
    const absl::StatusOr<UpdateAnswer> again = Update(2, finite);
    ASSERT_THAT(again, IsOk());
    EXPECT_THAT(again->decision, Eq(second->decision));
    EXPECT_THAT(Update(2, foreign), IsError(Reason::kVoteConflict));
    session_ = Restarted();
  }
}

TEST_F(SessionTest, AVoteThatMakesNoSenseIsNotTaken) {
  EXPECT_THAT(Update(std::nullopt, Verdict::kFinite),
              IsError(Reason::kRequestIdRequired));
  FinishStream(1, "s", false);
  EXPECT_THAT(Update(1, StreamVote({"s", "s"})),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(Restore(std::nullopt, "no spaces"),
              IsError(Reason::kInvalidField));
  EXPECT_THAT(Step(), Eq(1));
}

// ---- Scales -------------------------------------------------------------

TEST_F(SessionTest, AnOlderStepHasItsOwnScale) {
  ASSERT_THAT(Update(1, Verdict::kOverflow), IsOk());
  ASSERT_THAT(Update(2, Verdict::kOverflow), IsOk());
  const auto scale = [&](std::optional<std::int64_t> step) {
    const absl::StatusOr<StepScale> found = session_->ScaleOf(step);
    EXPECT_THAT(found, IsOk());
    return std::pair(found->step, found->scale);
  };
  EXPECT_THAT(scale(1), Eq(std::pair<std::int64_t, double>(1, 65536.0)));
  EXPECT_THAT(scale(2), Eq(std::pair<std::int64_t, double>(2, 32768.0)));
  EXPECT_THAT(scale(3), Eq(std::pair<std::int64_t, double>(3, 16384.0)));
  EXPECT_THAT(scale(std::nullopt),
              Eq(std::pair<std::int64_t, double>(3, 16384.0)));
}

// ---- Restoring ----------------------------------------------------------

TEST_F(SessionTest, ARestoreIsAnsweredOncePerRequest) {
  const absl::StatusOr<RestoreAnswer> first = Restore(1, "restore");
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(first->decision.reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(first->snapshot.state.epoch, Eq(2));
  EXPECT_THAT(first->snapshot.last_decision, Optional(first->decision));
  ASSERT_THAT(Update(2, Verdict::kFinite), IsOk());
  // The same answer although the epoch has moved; the session as it is now.
  const absl::StatusOr<RestoreAnswer> again = Restore(1, "restore");
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  EXPECT_THAT(again->snapshot.state.step, Eq(3));
  EXPECT_THAT(again->snapshot.state.epoch, Eq(2));
}

// Hole H16.
TEST_F(SessionTest, ASecondRestoreOfTheSameEpochIsRefused) {
  ASSERT_THAT(Restore(1, "a"), IsOk());
  EXPECT_THAT(Restore(1, "b"), IsError(Reason::kEpochMismatch));
  EXPECT_THAT(Restore(1, ""), IsError(Reason::kEpochMismatch));
  EXPECT_THAT(Step(), Eq(2));
}

TEST_F(SessionTest, ARepeatedRestoreIsFoundInTheJournal) {
  const absl::StatusOr<RestoreAnswer> first = Restore(1, "restore");
  DecideMany(kDecisionsInMemory);
  const absl::StatusOr<RestoreAnswer> again = Restore(1, "restore");
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  session_ = Restarted();
  const absl::StatusOr<RestoreAnswer> after_restart = Restore(1, "restore");
  ASSERT_THAT(after_restart, IsOk());
  EXPECT_THAT(after_restart->decision, Eq(first->decision));
}

// Otherwise the answer would be a decision that restored nothing.
TEST_F(SessionTest, TheRequestOfAVoteIsNotThatOfARestore) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.request_id = "r";
  ASSERT_THAT(Update(1, vote), IsOk());
  EXPECT_THAT(Restore(std::nullopt, "r"),
              IsErrorSaying(Reason::kInvalidField, "id of its own"));
  EXPECT_THAT(Step(), Eq(2));
}

// A restored step has no vote to differ from: its voter drops the gradients.
TEST_F(SessionTest, AVoteOnARestoredStepGetsTheAbort) {
  ASSERT_THAT(Restore(std::nullopt, ""), IsOk());
  const absl::StatusOr<UpdateAnswer> answer = Update(1, Verdict::kFinite);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->decision.outcome, Eq(Outcome::kAborted));
  EXPECT_THAT(answer->current.base, Eq(1));
}

// ---- Persist first, then answer (R9) -------------------------------------

TEST_F(SessionTest, NothingIsSeenOfADecisionBeforeItIsWritten) {
  store_.Hold();
  Caught<absl::StatusOr<UpdateAnswer>> first;
  Caught<absl::StatusOr<UpdateAnswer>> second;
  Caught<absl::StatusOr<SessionSnapshot>> look;
  session_->Update(1, VoteOf(Verdict::kOverflow), first.Callback());
  session_->Update(1, VoteOf(Verdict::kOverflow), second.Callback());
  session_->Look(look.Callback());
  EXPECT_THAT(first.size(), Eq(0u));
  EXPECT_THAT(second.size(), Eq(0u));
  EXPECT_THAT(look.size(), Eq(0u));
  EXPECT_THAT(session_->Snapshot()->state, Eq(Initial()));
  EXPECT_THAT(session_->Snapshot()->last_decision, Eq(std::nullopt));
  EXPECT_THAT(session_->ScaleOf(std::nullopt)->scale, Eq(65536.0));
  EXPECT_THAT(session_->ScaleOf(2), IsError(Reason::kStepAhead));

  store_.Release();
  ASSERT_THAT(first.size(), Eq(1u));
  ASSERT_THAT(second.size(), Eq(1u));
  ASSERT_THAT(look.size(), Eq(1u));
  ASSERT_THAT(second.at(0), IsOk());
  EXPECT_THAT(second.at(0)->decision, Eq(first.at(0)->decision));
  EXPECT_THAT(look.at(0)->state.step, Eq(2));
  EXPECT_THAT(session_->ScaleOf(std::nullopt)->scale, Eq(32768.0));
}

TEST_F(SessionTest, EventsAreTakenInTheirOrder) {
  store_.Hold();
  Caught<absl::StatusOr<UpdateAnswer>> votes;
  Caught<absl::StatusOr<RestoreAnswer>> restored;
  session_->Update(1, VoteOf(Verdict::kFinite), votes.Callback());
  session_->Restore(GoldenScaler(), std::nullopt, "", restored.Callback());
  session_->Update(3, VoteOf(Verdict::kFinite), votes.Callback());
  // One write at a time.
  EXPECT_THAT(store_.held(), Eq(1));
  ASSERT_TRUE(store_.ReleaseOne());
  EXPECT_THAT(votes.size(), Eq(1u));
  EXPECT_THAT(restored.size(), Eq(0u));
  store_.Release();
  ASSERT_THAT(restored.size(), Eq(1u));
  ASSERT_THAT(restored.at(0), IsOk());
  EXPECT_THAT(restored.at(0)->decision.step, Eq(2));
  ASSERT_THAT(votes.size(), Eq(2u));
  ASSERT_THAT(votes.at(1), IsOk());
  EXPECT_THAT(votes.at(1)->decision.step, Eq(3));
}

TEST_F(SessionTest, AnAnswerMayAskAgain) {
  Caught<absl::StatusOr<UpdateAnswer>> second;
  session_->Update(1, VoteOf(Verdict::kFinite),
                   [&](const absl::StatusOr<UpdateAnswer>& answer) {
                     EXPECT_THAT(answer, IsOk());
                     session_->Update(2, VoteOf(Verdict::kFinite),
                                      second.Callback());
                   });
  ASSERT_THAT(second.size(), Eq(1u));
  EXPECT_THAT(second.at(0), IsOk());
}

TEST_F(SessionTest, AWriteThatWasNotDoneLeavesTheState) {
  store_.FailNextWrite(Fault::kNotWritten);
  const absl::StatusOr<UpdateAnswer> answer = Update(1, Verdict::kFinite);
  EXPECT_THAT(answer,
              IsErrorSaying(Reason::kStoreUnavailable, "nothing was decided"));
  EXPECT_THAT(RetryDelayOf(answer.status()),
              Optional(absl::Milliseconds(1500)));
  EXPECT_THAT(session_->Snapshot()->state, Eq(Initial()));
  // Nobody saw a decision: another vote may decide.
  const absl::StatusOr<UpdateAnswer> again = Update(1, Verdict::kOverflow);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision.outcome, Eq(Outcome::kSkipOverflow));
}

TEST_F(SessionTest, AnUnknownWriteThatIsThereIsAnswered) {
  store_.FailNextWrite(Fault::kWrittenUnknown);
  const absl::StatusOr<UpdateAnswer> answer = Update(1, Verdict::kFinite);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->decision.step, Eq(1));
  EXPECT_THAT(Step(), Eq(2));
  EXPECT_THAT(store_.reloads(), Eq(1));
}

TEST_F(SessionTest, AnUnknownWriteThatIsNotThereIsRefused) {
  store_.FailNextWrite(Fault::kLostUnknown);
  EXPECT_THAT(Update(1, Verdict::kFinite), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Step(), Eq(1));
  EXPECT_THAT(Update(1, Verdict::kOverflow), IsOk());
}

// Hole A8: no event before the session is read again.
TEST_F(SessionTest, WhileAnOutcomeIsUnknownNoEventIsTaken) {
  store_.FailNextWrite(Fault::kWrittenUnknown);
  store_.FailReads(true);
  const absl::StatusOr<UpdateAnswer> answer = Update(1, Verdict::kFinite);
  EXPECT_THAT(answer, IsErrorSaying(Reason::kStoreUnavailable, "not known"));
  EXPECT_THAT(RetryDelayOf(answer.status()),
              Optional(absl::Milliseconds(1500)));
  const int commits = store_.commits();
  EXPECT_THAT(Update(1, Verdict::kOverflow),
              IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Restore(std::nullopt, ""), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(Look(), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(session_->Reread(), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(store_.commits(), Eq(commits));
  EXPECT_FALSE(session_->gone());

  store_.FailReads(false);
  EXPECT_THAT(Update(1, Verdict::kOverflow), IsError(Reason::kVoteConflict));
  const absl::StatusOr<UpdateAnswer> again = Update(1, Verdict::kFinite);
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->decision.apply());
  EXPECT_THAT(Step(), Eq(2));
}

TEST_F(SessionTest, AnUnknownWriteThatWasLostIsDecidedAnew) {
  store_.FailNextWrite(Fault::kLostUnknown);
  store_.FailReads(true);
  EXPECT_THAT(Update(1, Verdict::kFinite), IsError(Reason::kStoreUnavailable));
  store_.FailReads(false);
  const absl::StatusOr<UpdateAnswer> again = Update(1, Verdict::kOverflow);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision.outcome, Eq(Outcome::kSkipOverflow));
}

// ---- Creating and deleting ----------------------------------------------

TEST_F(SessionTest, EventsWaitForTheCreation) {
  MemoryStore empty;
  environment_.store = &empty;
  const auto fresh = std::make_shared<Session>("run", &environment_);
  Caught<absl::StatusOr<SessionSnapshot>> look;
  fresh->Look(look.Callback());
  EXPECT_THAT(look.size(), Eq(0u));
  EXPECT_FALSE(fresh->gone());
  EXPECT_THAT(fresh->Snapshot().has_value(), Eq(false));
  Caught<absl::StatusOr<SessionSnapshot>> created;
  fresh->Create(Initial(), created.Callback());
  ASSERT_THAT(look.size(), Eq(1u));
  EXPECT_THAT(look.at(0), IsOk());
  EXPECT_THAT(created.at(0), IsOk());
}

TEST_F(SessionTest, AfterAFailedCreationThereIsNoSession) {
  MemoryStore empty;
  FaultyStore faulty(&empty);
  environment_.store = &faulty;
  faulty.FailNextWrite(Fault::kNotWritten);
  session_ = std::make_shared<Session>("run", &environment_);
  Caught<absl::StatusOr<SessionSnapshot>> created;
  session_->Create(Initial(), created.Callback());
  ASSERT_THAT(created.size(), Eq(1u));
  EXPECT_THAT(created.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_TRUE(session_->gone());
  EXPECT_THAT(Look(), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(Update(1, Verdict::kFinite), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(Restore(std::nullopt, ""), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(session_->ScaleOf(1), IsError(Reason::kSessionNotFound));
  EXPECT_THAT(session_->OpenStream({}, 1, "s"),
              IsError(Reason::kSessionNotFound));
}

TEST_F(SessionTest, AnUnknownCreationIsReadAgain) {
  for (const Fault fault : {Fault::kWrittenUnknown, Fault::kLostUnknown}) {
    MemoryStore empty;
    FaultyStore faulty(&empty);
    environment_.store = &faulty;
    faulty.FailNextWrite(fault);
    faulty.FailReads(true);
    session_ = std::make_shared<Session>("run", &environment_);
    Caught<absl::StatusOr<SessionSnapshot>> created;
    session_->Create(Initial(), created.Callback());
    EXPECT_THAT(created.at(0), IsError(Reason::kStoreUnavailable));
    EXPECT_FALSE(session_->gone());
    faulty.FailReads(false);
    if (fault == Fault::kWrittenUnknown) {
      EXPECT_THAT(Look(), IsOk());
    } else {
      EXPECT_THAT(Look(), IsError(Reason::kSessionNotFound));
      EXPECT_TRUE(session_->gone());
    }
  }
}

TEST_F(SessionTest, ADeletedSessionIsGoneOnceThatIsWritten) {
  store_.Hold();
  Caught<absl::StatusOr<SessionSnapshot>> deleted;
  Caught<absl::StatusOr<UpdateAnswer>> vote;
  session_->Delete("d", deleted.Callback());
  session_->Update(1, VoteOf(Verdict::kFinite), vote.Callback());
  EXPECT_TRUE(session_->Snapshot().has_value());
  EXPECT_FALSE(session_->gone());
  store_.Release();
  ASSERT_THAT(deleted.size(), Eq(1u));
  EXPECT_THAT(deleted.at(0), IsOk());
  EXPECT_FALSE(session_->Snapshot().has_value());
  EXPECT_TRUE(session_->gone());
  ASSERT_THAT(vote.size(), Eq(1u));
  EXPECT_THAT(vote.at(0), IsError(Reason::kSessionNotFound));
}

TEST_F(SessionTest, ADeletionThatWasNotDoneLeavesTheSession) {
  store_.FailNextWrite(Fault::kNotWritten);
  Caught<absl::StatusOr<SessionSnapshot>> deleted;
  session_->Delete("d", deleted.Callback());
  EXPECT_THAT(deleted.at(0), IsError(Reason::kStoreUnavailable));
  EXPECT_FALSE(session_->gone());
  EXPECT_THAT(Update(1, Verdict::kFinite), IsOk());
}

TEST_F(SessionTest, AnUnknownDeletionThatIsThereIsAnswered) {
  store_.FailNextWrite(Fault::kWrittenUnknown);
  Caught<absl::StatusOr<SessionSnapshot>> deleted;
  session_->Delete("d", deleted.Callback());
  EXPECT_THAT(deleted.at(0), IsOk());
  EXPECT_TRUE(session_->gone());
}

// ---- Votes by streams ---------------------------------------------------

TEST_F(SessionTest, AnUnsetVoteIsWhatItsStreamsFound) {
  FinishStream(1, "a", false);
  FinishStream(1, "b", true);
  const absl::StatusOr<UpdateAnswer> answer = Update(1, StreamVote({"a", "b"}));
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->decision.outcome, Eq(Outcome::kSkipOverflow));
  ASSERT_THAT(answer->decision.votes, SizeIs(1));
  EXPECT_THAT(answer->decision.votes[0].verdict, Eq(Verdict::kUnset));
  EXPECT_THAT(answer->decision.votes[0].resolved, Eq(Verdict::kOverflow));
  EXPECT_THAT(answer->decision.votes[0].stream_ids,
              Eq(std::vector<std::string>{"a", "b"}));
}

// R4 is asked before verdicts are resolved: the ledger is empty by then.
TEST_F(SessionTest, ARepeatedStreamVoteGetsTheDecision) {
  FinishStream(1, "a", false);
  const absl::StatusOr<UpdateAnswer> first = Update(1, StreamVote({"a"}));
  const absl::StatusOr<UpdateAnswer> again = Update(1, StreamVote({"a"}));
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->decision, Eq(first->decision));
  EXPECT_THAT(Update(1, StreamVote({"b"})), IsError(Reason::kVoteConflict));
}

// Hole M1.
TEST_F(SessionTest, AStreamThatIsTakenBackHasNoVerdict) {
  FinishStream(1, "s", false);
  EXPECT_THAT(budget_.taken(), Gt(0));
  session_->RetractStream({}, 1, "s");
  EXPECT_THAT(budget_.taken(), Eq(0));
  EXPECT_THAT(Update(1, StreamVote({"s"})), IsError(Reason::kVerdictLost));
  EXPECT_THAT(session_->OpenStream({}, 1, "s"), IsError(Reason::kStreamIdUsed));
  // Another step's stream of that id is another stream.
  DecideMany(1);
  FinishStream(2, "s", false);
  session_->RetractStream({}, 1, "s");
  EXPECT_THAT(Update(2, StreamVote({"s"})), IsOk());
}

TEST_F(SessionTest, ARestartLosesVerdictsAndSaysSo) {
  FinishStream(1, "a", true);
  session_ = Restarted();
  FinishStream(1, "b", false);
  EXPECT_THAT(Update(1, StreamVote({"a", "b"})), IsError(Reason::kVerdictLost));
  EXPECT_THAT(Step(), Eq(1));
}

TEST_F(SessionTest, ADecisionClearsTheVerdicts) {
  FinishStream(1, "a", false);
  EXPECT_GT(budget_.taken(), 0);
  ASSERT_THAT(Update(1, Verdict::kFinite), IsOk());
  EXPECT_THAT(budget_.taken(), Eq(0));
  EXPECT_THAT(Update(2, StreamVote({"a"})), IsError(Reason::kVerdictLost));
  // The id is free again.
  EXPECT_THAT(session_->OpenStream({}, 2, "a"), IsOk());
}

TEST_F(SessionTest, AFailedWriteKeepsTheVerdicts) {
  FinishStream(1, "a", true);
  for (const Fault fault : {Fault::kNotWritten, Fault::kLostUnknown}) {
    store_.FailNextWrite(fault);
    EXPECT_THAT(Update(1, StreamVote({"a"})),
                IsError(Reason::kStoreUnavailable));
  }
  const absl::StatusOr<UpdateAnswer> answer = Update(1, StreamVote({"a"}));
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->decision.outcome, Eq(Outcome::kSkipOverflow));
}

TEST_F(SessionTest, ARestoreClearsTheVerdicts) {
  FinishStream(1, "a", false);
  ASSERT_THAT(Restore(std::nullopt, ""), IsOk());
  EXPECT_THAT(Update(2, StreamVote({"a"})), IsError(Reason::kVerdictLost));
}

TEST_F(SessionTest, AStreamThatEndsAfterItsStepLeavesNothing) {
  ASSERT_THAT(session_->OpenStream({}, 1, "a"), IsOk());
  ASSERT_THAT(Update(1, Verdict::kFinite), IsOk());
  ASSERT_THAT(session_->OpenStream({}, 2, "a"), IsOk());
  // The first one, of step 1; the second one goes on.
  session_->FinishStream(
      {}, 1, "a", false,
      {{.name = "w", .element_count = 1, .ranges = {{0, 1}}}});
  EXPECT_THAT(Update(2, StreamVote({"a"})), IsError(Reason::kVerdictLost));
  EXPECT_THAT(budget_.taken(), Eq(0));
}

TEST_F(SessionTest, AStreamOfAnOlderStepWorksButNoVoteCountsIt) {
  ASSERT_THAT(Update(1, Verdict::kFinite), IsOk());
  FinishStream(1, "old", false);
  FinishStream(1, "old", false);
  EXPECT_THAT(Update(2, StreamVote({"old"})), IsError(Reason::kVerdictLost));
}

}  // namespace
}  // namespace lossscaler::server
