// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/ballot.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/votes.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::VoteOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;

const absl::Time kFirst = absl::FromUnixSeconds(100);
const absl::Time kLate = kFirst + absl::Seconds(60);
constexpr Verdict kFinite = Verdict::kFinite;
constexpr Verdict kOverflow = Verdict::kOverflow;
constexpr Verdict kAbstain = Verdict::kAbstain;
constexpr Verdict kSkip = Verdict::kSkip;

// An open step of members 1, 2, 3 ...
GroupState Roster(std::vector<MemberState> states) {
  GroupState group;
  group.config.min_workers = 1;
  group.config.max_workers = 8;
  group.config.step_timeout = absl::Seconds(60);
  group.open = true;
  std::int64_t incarnation = 0;
  for (const MemberState state : states) {
    group.members.push_back(
        {.worker = "w", .incarnation = ++incarnation, .state = state});
  }
  return group;
}

GroupState Active(int count) {
  return Roster(std::vector<MemberState>(count, MemberState::kActive));
}

// kUnset: no vote of that member.
Ballot Votes(const std::vector<Verdict>& verdicts) {
  Ballot ballot;
  std::int64_t incarnation = 0;
  for (const Verdict verdict : verdicts) {
    ++incarnation;
    if (verdict == Verdict::kUnset) continue;
    ballot.votes[incarnation] = VoteOf(verdict);
    ballot.first_vote = kFirst;
  }
  return ballot;
}

using OutcomeAndReason = std::pair<Outcome, DecisionReason>;

std::optional<OutcomeAndReason> EndOf(const GroupState& group,
                                      const Ballot& ballot,
                                      absl::Time now = kFirst) {
  const std::optional<Ending> ending = Conclude(group, ballot, now);
  if (!ending) return std::nullopt;
  return OutcomeAndReason{ending->outcome, ending->reason};
}

const OutcomeAndReason kApplied{Outcome::kApply, DecisionReason::kFinite};
const OutcomeAndReason kOverflowed{Outcome::kSkipOverflow,
                                   DecisionReason::kOverflow};
const OutcomeAndReason kSkipped{Outcome::kSkip, DecisionReason::kVotedSkip};
const OutcomeAndReason kNoData{Outcome::kSkip, DecisionReason::kAllAbstained};

// M3: every set of three votes, in whatever order they came, by R6.
TEST(ConcludeTest, ACompleteSetOfVotesDecidesWhateverItsOrder) {
  const std::vector<Verdict> all = {kFinite, kOverflow, kAbstain, kSkip};
  for (const Verdict a : all) {
    for (const Verdict b : all) {
      for (const Verdict c : all) {
        const auto has = [&](Verdict v) { return a == v || b == v || c == v; };
        OutcomeAndReason expected = kNoData;
        if (has(kFinite)) expected = kApplied;
        if (has(kSkip)) expected = kSkipped;
        if (has(kOverflow)) expected = kOverflowed;
        EXPECT_THAT(EndOf(Active(3), Votes({a, b, c})), Eq(expected));
      }
    }
  }
}

TEST(ConcludeTest, OnlyOverflowDecidesBeforeEveryVoteIsIn) {
  const Ballot overflow = Votes({kOverflow, Verdict::kUnset});
  EXPECT_THAT(EndOf(Active(2), overflow), Eq(kOverflowed));
  for (const Verdict verdict : {kFinite, kAbstain, kSkip}) {
    EXPECT_THAT(EndOf(Active(2), Votes({verdict, Verdict::kUnset})),
                Eq(std::nullopt));
  }
  GroupState patient = Active(2);
  patient.config.early_decision = false;
  EXPECT_THAT(EndOf(patient, overflow), Eq(std::nullopt));
  EXPECT_THAT(EndOf(patient, Votes({kOverflow, kFinite})), Eq(kOverflowed));
}

TEST(ConcludeTest, NothingEndsAStepWithoutVotes) {
  EXPECT_THAT(EndOf(Active(2), Votes({}), kLate), Eq(std::nullopt));
  EXPECT_THAT(StepDeadline(Active(2), Votes({})), Eq(absl::InfiniteFuture()));
}

TEST(ConcludeTest, APendingMemberIsNotWaitedFor) {
  const GroupState group =
      Roster({MemberState::kActive, MemberState::kPending});
  EXPECT_THAT(EndOf(group, Votes({kFinite})), Eq(kApplied));
}

TEST(ConcludeTest, ALeaverWithoutAVoteAbstains) {
  const GroupState group = Roster({MemberState::kActive, MemberState::kLeft});
  EXPECT_THAT(EndOf(group, Votes({kFinite})), Eq(kApplied));
  EXPECT_THAT(EndOf(group, Votes({})), Eq(std::nullopt));
}

TEST(ConcludeTest, ARecordedVoteCountsAlthoughItsVoterIsLost) {
  const GroupState group = Roster({MemberState::kActive, MemberState::kLost});
  EXPECT_THAT(EndOf(group, Votes({kFinite, kFinite})), Eq(kApplied));
}

// H11: the vote was forgotten in a restart, and can not come again.
TEST(ConcludeTest, ALeaverWhoseVoteWasForgottenIsALoss) {
  GroupState group = Roster({MemberState::kActive, MemberState::kLeft});
  group.members[1].left_after_voting = true;
  EXPECT_THAT(
      EndOf(group, Votes({})),
      Eq(OutcomeAndReason{Outcome::kSkip, DecisionReason::kWorkerLost}));
  EXPECT_THAT(EndOf(group, Votes({kFinite, kFinite})), Eq(kApplied));
}

// H15: at once, although nobody has voted.
TEST(ConcludeTest, ALossEndsTheStepByItsPolicy) {
  GroupState group = Roster({MemberState::kActive, MemberState::kLost});
  EXPECT_THAT(
      EndOf(group, Votes({})),
      Eq(OutcomeAndReason{Outcome::kSkip, DecisionReason::kWorkerLost}));
  group.config.on_loss = LossPolicy::kAbort;
  EXPECT_THAT(
      EndOf(group, Votes({})),
      Eq(OutcomeAndReason{Outcome::kAborted, DecisionReason::kWorkerLost}));
  group.config.on_loss = LossPolicy::kProceed;
  EXPECT_THAT(EndOf(group, Votes({})), Eq(std::nullopt));
  EXPECT_THAT(EndOf(group, Votes({kFinite})), Eq(kApplied));
  group.config.min_workers = 2;
  EXPECT_THAT(
      EndOf(group, Votes({kFinite})),
      Eq(OutcomeAndReason{Outcome::kSkip, DecisionReason::kWorkerLost}));
}

// H6: with early decision off, no policy overrules a recorded OVERFLOW.
TEST(ConcludeTest, ARecordedOverflowWinsOverEveryPolicy) {
  const Ballot ballot = Votes({kOverflow, Verdict::kUnset, kFinite});
  for (const auto policy : {LossPolicy::kSkip, LossPolicy::kAbort}) {
    GroupState group = Roster(
        {MemberState::kActive, MemberState::kLost, MemberState::kActive});
    group.config.early_decision = false;
    group.config.on_loss = policy;
    EXPECT_THAT(EndOf(group, ballot), Eq(kOverflowed));
  }
  for (const auto policy : {StragglerPolicy::kSkip, StragglerPolicy::kAbort,
                            StragglerPolicy::kProceed}) {
    GroupState group = Active(3);
    group.config.early_decision = false;
    group.config.on_timeout = policy;
    EXPECT_THAT(EndOf(group, ballot, kLate), Eq(kOverflowed));
    EXPECT_THAT(Conclude(group, ballot, kLate)->evicted, IsEmpty());
  }
  GroupState empty = Roster({MemberState::kLost, MemberState::kLeft});
  empty.config.early_decision = false;
  EXPECT_THAT(EndOf(empty, Votes({kOverflow})), Eq(kOverflowed));
}

// A5: NO_WORKERS comes before a complete roster and before a loss.
TEST(ConcludeTest, NobodyLeftAbortsTheStep) {
  const OutcomeAndReason expected{Outcome::kAborted,
                                  DecisionReason::kNoWorkers};
  EXPECT_THAT(
      EndOf(Roster({MemberState::kLost, MemberState::kLeft}), Votes({kFinite})),
      Eq(expected));
  EXPECT_THAT(EndOf(Roster({MemberState::kLost}), Votes({})), Eq(expected));
  EXPECT_THAT(
      EndOf(Roster({MemberState::kLost, MemberState::kPending}), Votes({})),
      Eq(OutcomeAndReason{Outcome::kSkip, DecisionReason::kWorkerLost}));
}

TEST(ConcludeTest, AStragglerEndsTheStepByItsPolicy) {
  const Ballot ballot = Votes({kFinite, Verdict::kUnset});
  GroupState group = Active(2);
  const OutcomeAndReason skip{Outcome::kSkip, DecisionReason::kTimeout};
  EXPECT_THAT(StepDeadline(group, ballot), Eq(kLate));
  EXPECT_THAT(EndOf(group, ballot, kLate - absl::Nanoseconds(1)),
              Eq(std::nullopt));
  EXPECT_THAT(EndOf(group, ballot, kLate), Eq(skip));
  EXPECT_THAT(Conclude(group, ballot, kLate)->evicted, IsEmpty());

  group.config.on_timeout = StragglerPolicy::kProceed;
  EXPECT_THAT(EndOf(group, ballot, kLate), Eq(kApplied));
  EXPECT_THAT(Conclude(group, ballot, kLate)->evicted, ElementsAre(2));
  group.config.min_workers = 2;
  EXPECT_THAT(EndOf(group, ballot, kLate), Eq(skip));
  EXPECT_THAT(Conclude(group, ballot, kLate)->evicted, IsEmpty());

  group.config.on_timeout = StragglerPolicy::kAbort;
  EXPECT_THAT(
      EndOf(group, ballot, kLate),
      Eq(OutcomeAndReason{Outcome::kAborted, DecisionReason::kTimeout}));
  EXPECT_THAT(Conclude(group, ballot, kLate)->evicted, ElementsAre(2));

  group.config.on_timeout = StragglerPolicy::kWait;
  EXPECT_THAT(EndOf(group, ballot, kLate + absl::Hours(24)), Eq(std::nullopt));
}

TEST(ConcludeTest, TheThirdTimeoutInARowAborts) {
  GroupState group = Active(2);
  const Ballot ballot = Votes({kFinite, Verdict::kUnset});
  group.timeouts = 1;
  EXPECT_THAT(Conclude(group, ballot, kLate)->outcome, Eq(Outcome::kSkip));
  group.timeouts = 2;
  EXPECT_THAT(Conclude(group, ballot, kLate)->outcome, Eq(Outcome::kAborted));
  EXPECT_THAT(Conclude(group, ballot, kLate)->evicted, ElementsAre(2));
}

// N9: nobody is paired with a wrong batch, whoever votes first.
TEST(ConcludeTest, DifferentIterationsAreSkippedAndGoOnBehindTheHighest) {
  Ballot ballot = Votes({kFinite, kFinite, kAbstain, kFinite});
  ballot.votes[1].iteration = 8;
  ballot.votes[2].iteration = 7;
  const std::optional<Ending> ending = Conclude(Active(4), ballot, kFirst);
  ASSERT_TRUE(ending);
  EXPECT_THAT(ending->outcome, Eq(Outcome::kSkip));
  EXPECT_THAT(ending->reason, Eq(DecisionReason::kIterationMismatch));
  EXPECT_FALSE(ending->overflow);
  EXPECT_THAT(ending->next_iteration, Eq(9));
  ballot.votes[2].iteration = 8;
  EXPECT_THAT(EndOf(Active(4), ballot), Eq(kApplied));
}

Vote PartsVote(std::vector<PartVote> parts) {
  Vote vote = VoteOf(kFinite);
  for (const PartVote& part : parts) {
    if (part.verdict == kOverflow) vote.verdict = vote.resolved = kOverflow;
  }
  vote.parts = std::move(parts);
  return vote;
}

Ballot TwoParts() {
  Ballot ballot;
  ballot.first_vote = kFirst;
  ballot.votes[1] = PartsVote({{"g", kFinite, 2.0}, {"d", kFinite, 5.0}});
  ballot.votes[2] = PartsVote({{"g", kFinite, 3.0}, {"d", kOverflow}});
  return ballot;
}

TEST(PartsTest, UnderEachOnlyThePartThatOverflowsIsNotApplied) {
  GroupState group = Active(2);
  group.config.parts = PartPolicy::kEach;
  const Ballot ballot = TwoParts();
  const std::optional<Ending> ending = Conclude(group, ballot, kFirst);
  ASSERT_TRUE(ending);
  EXPECT_THAT(ending->outcome, Eq(Outcome::kApply));
  EXPECT_THAT(ending->reason, Eq(DecisionReason::kPartsOverflow));
  EXPECT_TRUE(ending->overflow);
  EXPECT_THAT(PartOutcomes(ballot, Outcome::kApply),
              ElementsAre(PartOutcome{"d", false, std::nullopt},
                          PartOutcome{"g", true, 5.0}));
}

TEST(PartsTest, UnderEachEveryVoteIsWaitedFor) {
  GroupState group = Active(3);
  group.config.parts = PartPolicy::kEach;
  EXPECT_THAT(EndOf(group, TwoParts()), Eq(std::nullopt));
}

TEST(PartsTest, UnderAllOneOverflowSkipsEveryPart) {
  EXPECT_THAT(EndOf(Active(2), TwoParts()), Eq(kOverflowed));
  EXPECT_THAT(PartOutcomes(TwoParts(), Outcome::kSkipOverflow),
              ElementsAre(PartOutcome{"d", false, std::nullopt},
                          PartOutcome{"g", false, std::nullopt}));
}

TEST(PartsTest, AVoteWithoutPartsSpeaksForEveryPart) {
  GroupState group = Active(3);
  group.config.parts = PartPolicy::kEach;
  Ballot ballot = TwoParts();
  ballot.votes[3] = VoteOf(kFinite);
  EXPECT_THAT(Conclude(group, ballot, kFirst)->outcome, Eq(Outcome::kApply));
  EXPECT_THAT(PartOutcomes(ballot, Outcome::kApply)[1],
              Eq(PartOutcome{"g", true, std::nullopt}));
  ballot.votes[3] = VoteOf(kAbstain);
  EXPECT_THAT(PartOutcomes(ballot, Outcome::kApply)[1],
              Eq(PartOutcome{"g", true, 5.0}));
  ballot.votes[3] = VoteOf(kOverflow);
  EXPECT_THAT(EndOf(group, ballot), Eq(kOverflowed));
}

TEST(PartsTest, AVoterOwnsNothingOfAPartThatItDoesNotName) {
  Ballot ballot = TwoParts();
  ballot.votes[3] = PartsVote({{"g", kFinite, 4.0}, {"h", kFinite, 1.0}});
  const std::vector<PartOutcome> parts = PartOutcomes(ballot, Outcome::kApply);
  EXPECT_THAT(parts[1], Eq(PartOutcome{"g", true, 9.0}));
  EXPECT_THAT(parts[2], Eq(PartOutcome{"h", true, 1.0}));
  ballot.votes[3].parts[0].sum_of_squares.reset();
  EXPECT_THAT(PartOutcomes(ballot, Outcome::kApply)[1],
              Eq(PartOutcome{"g", true, std::nullopt}));
}

TEST(PartsTest, SkipAndIterationsKeepTheirMeaningUnderEach) {
  GroupState group = Active(3);
  group.config.parts = PartPolicy::kEach;
  Ballot ballot = TwoParts();
  ballot.votes[3] = VoteOf(kSkip);
  EXPECT_THAT(EndOf(group, ballot), Eq(kOverflowed));
  ballot.votes[3] = VoteOf(kFinite);
  ballot.votes[1].iteration = 1;
  ballot.votes[3].iteration = 2;
  EXPECT_THAT(EndOf(group, ballot), Eq(kOverflowed));
}

}  // namespace
}  // namespace lossscaler
