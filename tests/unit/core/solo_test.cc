// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/solo.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

SessionState Fresh(const LossScaler& scaler = GoldenScaler()) {
  return NewSession("team/run", "uid-1", scaler, "create-1",
                    absl::FromUnixSeconds(1'700'000'000));
}

Decided MustDecide(const SessionState& state, Verdict verdict) {
  absl::StatusOr<Decided> decided = Decide(state, VoteOf(verdict), kNow);
  EXPECT_THAT(decided, IsOk());
  return *std::move(decided);
}

SessionState AtStep(std::int64_t step) {
  SessionState state = Fresh();
  state.step = step;
  return state;
}

TEST(NewSessionTest, StartsAtStepOneOnTheInitialParameters) {
  const SessionState state = Fresh();
  EXPECT_THAT(state.name, Eq("team/run"));
  EXPECT_THAT(state.uid, Eq("uid-1"));
  EXPECT_THAT(state.config, Eq(GoldenScaler()));
  EXPECT_THAT(state.scaler, Eq(GoldenScaler()));
  EXPECT_THAT(state.current(),
              Eq(Current{.step = 1, .scale = 65536.0, .base = 0, .epoch = 1}));
  EXPECT_THAT(state.attempted(), Eq(0));
  EXPECT_THAT(state.revision, Eq(1));
  EXPECT_THAT(state.create_request_id, Eq("create-1"));
  EXPECT_THAT(state.create_time, Eq(absl::FromUnixSeconds(1'700'000'000)));
}

// Sequence A of policy-golden.json, with what follows from it by hand.
TEST(DecideTest, SequenceAOfTheGoldenFileGivesItsScalesAndCounters) {
  struct Row {
    bool overflow;
    double scale_after;
    std::int64_t base_after;
    std::int64_t applied;
    std::int64_t skipped;
  };
  const std::vector<Row> rows = {
      {false, 65536, 1, 1, 0},  {false, 65536, 2, 2, 0},
      {false, 131072, 3, 3, 0}, {true, 65536, 3, 3, 1},
      {true, 32768, 3, 3, 2},   {false, 32768, 6, 4, 2},
      {false, 32768, 7, 5, 2},  {false, 65536, 8, 6, 2},
  };
  SessionState state = Fresh();
  double scale = 65536;
  std::int64_t base = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const Row& row = rows[i];
    const Decided decided =
        MustDecide(state, row.overflow ? Verdict::kOverflow : Verdict::kFinite);
    const Decision& decision = decided.decision;
    EXPECT_THAT(decision.step, Eq(static_cast<std::int64_t>(i) + 1));
    EXPECT_THAT(decision.outcome,
                Eq(row.overflow ? Outcome::kSkipOverflow : Outcome::kApply));
    EXPECT_THAT(decision.apply(), Eq(!row.overflow));
    EXPECT_THAT(decision.reason, Eq(row.overflow ? DecisionReason::kOverflow
                                                 : DecisionReason::kFinite));
    EXPECT_THAT(decision.scale_before, Eq(scale));
    EXPECT_THAT(decision.scale_after, Eq(row.scale_after));
    EXPECT_THAT(decision.base_before, Eq(base));
    EXPECT_THAT(decision.base_after, Eq(row.base_after));
    EXPECT_THAT(decision.epoch_after, Eq(1));
    EXPECT_THAT(decision.attempted, Eq(static_cast<std::int64_t>(i) + 1));
    EXPECT_THAT(decision.applied, Eq(row.applied));
    EXPECT_THAT(decision.skipped, Eq(row.skipped));
    EXPECT_THAT(decision.decide_time, Eq(kNow));
    EXPECT_THAT(decided.state.current(), Eq(Current{.step = decision.step + 1,
                                                    .scale = row.scale_after,
                                                    .base = row.base_after,
                                                    .epoch = 1}));
    EXPECT_THAT(decided.state.revision, Eq(state.revision + 1));
    scale = row.scale_after;
    base = row.base_after;
    state = decided.state;
  }
  EXPECT_THAT(state.attempted(), Eq(8));
  EXPECT_THAT(state.applied, Eq(6));
  EXPECT_THAT(state.skipped, Eq(2));
}

TEST(DecideTest, ConsecutiveSkipsCountUpAndAnApplyEndsThem) {
  SessionState state = Fresh();
  state = MustDecide(state, Verdict::kOverflow).state;
  state = MustDecide(state, Verdict::kSkip).state;
  EXPECT_THAT(state.consecutive_skips, Eq(2));
  state = MustDecide(state, Verdict::kFinite).state;
  EXPECT_THAT(state.consecutive_skips, Eq(0));
}

TEST(DecideTest, TheVoteIsKeptAsSentButForWhoseBaseItNamed) {
  Vote vote = VoteOf(Verdict::kUnset);
  vote.resolved = Verdict::kOverflow;
  vote.stream_ids = {"s1", "s2"};
  vote.scale_used = 65536.0;
  vote.base = 0;
  vote.base_session_uid = "uid-1";
  vote.iteration = 41;
  vote.sum_of_squares = 2.5;
  vote.request_id = "r1";
  const absl::StatusOr<Decided> decided = Decide(Fresh(), vote, kNow);
  ASSERT_THAT(decided, IsOk());
  EXPECT_THAT(decided->decision.outcome, Eq(Outcome::kSkipOverflow));
  ASSERT_THAT(decided->decision.votes, SizeIs(1));
  vote.base_session_uid.clear();
  EXPECT_THAT(decided->decision.votes[0], Eq(vote));
  EXPECT_THAT(decided->decision.request_id, IsEmpty());
}

TEST(DecideTest, ASkipVoteSkipsWithoutPenalty) {
  SessionState state = Fresh();
  state = MustDecide(state, Verdict::kFinite).state;
  const Decided decided = MustDecide(state, Verdict::kSkip);
  EXPECT_THAT(decided.decision.outcome, Eq(Outcome::kSkip));
  EXPECT_THAT(decided.decision.reason, Eq(DecisionReason::kVotedSkip));
  EXPECT_THAT(decided.decision.scale_after, Eq(65536.0));
  // The count of clean steps, here 1, is part of the scaler.
  EXPECT_THAT(decided.state.scaler, Eq(state.scaler));
  EXPECT_THAT(decided.decision.base_after, Eq(1));
  EXPECT_THAT(decided.decision.skipped, Eq(1));
  EXPECT_THAT(decided.decision.attempted, Eq(2));
}

TEST(DecideTest, AnAbstentionSkipsWithoutPenalty) {
  const SessionState state = MustDecide(Fresh(), Verdict::kFinite).state;
  const Decided decided = MustDecide(state, Verdict::kAbstain);
  EXPECT_THAT(decided.decision.outcome, Eq(Outcome::kSkip));
  EXPECT_THAT(decided.decision.reason, Eq(DecisionReason::kAllAbstained));
  EXPECT_THAT(decided.state.scaler, Eq(state.scaler));
  EXPECT_THAT(decided.decision.base_after, Eq(1));
}

TEST(DecideTest, AnotherScaleIsRefusedNamingBoth) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.scale_used = 131072.0;
  const absl::StatusOr<Decided> decided = Decide(Fresh(), vote, kNow);
  // Six significant digits would turn these into 131072 and 65536 too, but
  // 16777216 below into 1.67772e+07.
  EXPECT_THAT(decided, IsErrorSaying(Reason::kScaleMismatch, "scale 131072 "));
  EXPECT_THAT(decided, IsErrorSaying(Reason::kScaleMismatch, "scale 65536;"));
  EXPECT_THAT(
      MetadataOf(decided.status()),
      Eq(std::map<std::string, std::string>{
          {"scale_used", "131072"}, {"scale", "65536"}, {"step", "1"}}));
}

TEST(DecideTest, ANeighbouringScaleIsAnotherScale) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.scale_used = std::nextafter(65536.0, 0.0);
  EXPECT_THAT(Decide(Fresh(), vote, kNow), IsError(Reason::kScaleMismatch));
  vote.scale_used = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Decide(Fresh(), vote, kNow), IsError(Reason::kScaleMismatch));
  vote.scale_used = 65536.0;
  EXPECT_THAT(Decide(Fresh(), vote, kNow), IsOk());
}

TEST(DecideTest, AnotherBaseIsRefusedNamingBoth) {
  SessionState state = MustDecide(Fresh(), Verdict::kFinite).state;
  Vote vote = VoteOf(Verdict::kFinite);
  vote.base = 0;
  const absl::StatusOr<Decided> decided = Decide(state, vote, kNow);
  EXPECT_THAT(decided, IsErrorSaying(Reason::kResync, "contain base 0"));
  EXPECT_THAT(decided, IsErrorSaying(Reason::kResync, "builds on base 1"));
  EXPECT_THAT(MetadataOf(decided.status()), Contains(Pair("base", "1")));
  EXPECT_THAT(MetadataOf(decided.status()),
              Contains(Pair("base_of_vote", "0")));
  vote.base = 2;
  EXPECT_THAT(Decide(state, vote, kNow), IsError(Reason::kResync));
  vote.base = 1;
  EXPECT_THAT(Decide(state, vote, kNow), IsOk());
}

TEST(DecideTest, AnOverflowOrSkipVoteNeedsTheRightBaseToo) {
  for (const Verdict verdict : {Verdict::kOverflow, Verdict::kSkip}) {
    Vote vote = VoteOf(verdict);
    vote.base = 7;
    EXPECT_THAT(Decide(Fresh(), vote, kNow), IsError(Reason::kResync));
  }
}

// Hole N5: a session created again, a worker brings the old session's base.
TEST(DecideTest, TheSameBaseOfAnotherSessionIsRefused) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.base = 0;
  vote.base_session_uid = "uid-0";
  const absl::StatusOr<Decided> decided = Decide(Fresh(), vote, kNow);
  EXPECT_THAT(decided, IsErrorSaying(Reason::kResync, "another session"));
  EXPECT_THAT(MetadataOf(decided.status()),
              Contains(Pair("session_uid", "uid-1")));
  vote.base_session_uid = "uid-1";
  EXPECT_THAT(Decide(Fresh(), vote, kNow), IsOk());
}

TEST(DecideTest, AHugeUidOfAVoteDoesNotMakeAHugeError) {
  Vote vote = VoteOf(Verdict::kFinite);
  vote.base_session_uid = std::string(100'000, 'x');
  const absl::Status status = Decide(Fresh(), vote, kNow).status();
  EXPECT_THAT(status, IsError(Reason::kResync));
  EXPECT_LT(status.message().size(), 1000u);
  EXPECT_LT(MetadataOf(status)["session_uid_of_vote"].size(), 200u);
}

TEST(DecideTest, AnAbstentionMayStandAnywhere) {
  Vote vote = VoteOf(Verdict::kAbstain);
  vote.base = 99;
  vote.base_session_uid = "uid-0";
  EXPECT_THAT(Decide(Fresh(), vote, kNow), IsOk());
}

TEST(DecideTest, NoneKeepsScaleOneAndStillSkipsOverflows) {
  const SessionState state = Fresh(LossScaler::None());
  const Decided skip = MustDecide(state, Verdict::kOverflow);
  EXPECT_THAT(skip.decision.outcome, Eq(Outcome::kSkipOverflow));
  EXPECT_THAT(skip.decision.scale_after, Eq(1.0));
  const Decided apply = MustDecide(skip.state, Verdict::kFinite);
  EXPECT_THAT(apply.decision.outcome, Eq(Outcome::kApply));
  EXPECT_THAT(apply.decision.base_after, Eq(2));
}

TEST(DecideTest, ExplanationsNameTheChangeOfScaleUnrounded) {
  const Decided grown = MustDecide(Fresh(*LossScaler::Dynamic(65536.0, 2.0, 1)),
                                   Verdict::kFinite);
  EXPECT_THAT(grown.decision.explanation,
              Eq("applied, every gradient is finite; scale 65536 -> 131072"));
  const Decided large = MustDecide(
      Fresh(*LossScaler::Dynamic(16777216.0, 2.0, 3)), Verdict::kOverflow);
  EXPECT_THAT(large.decision.explanation,
              Eq("skipped because of an overflow; scale 16777216 -> 8388608"));
  const Decided stays = MustDecide(
      Fresh(*LossScaler::Dynamic(16777216.0, 2.0, 3)), Verdict::kFinite);
  EXPECT_THAT(stays.decision.explanation,
              Eq("applied, every gradient is finite; scale stays 16777216"));
}

TEST(DecideTest, ExplanationsNameTheHysteresis) {
  const LossScaler scaler = *LossScaler::Dynamic(DynamicOptions{
      .initial_scale = 131072.0, .growth_interval = 1000, .hysteresis = 2});
  const Decided first = MustDecide(Fresh(scaler), Verdict::kOverflow);
  EXPECT_THAT(first.decision.explanation,
              Eq("skipped because of an overflow; hysteresis 2 -> 1, "
                 "scale stays 131072"));
  EXPECT_THAT(first.decision.outcome, Eq(Outcome::kSkipOverflow));
  const Decided second = MustDecide(first.state, Verdict::kOverflow);
  EXPECT_THAT(second.decision.scale_after, Eq(65536.0));
  EXPECT_THAT(second.decision.explanation, HasSubstr("scale 131072 -> 65536"));
}

TEST(DecideTest, SaturatedFlooredAndStalledAreReported) {
  const Decided saturated = MustDecide(
      Fresh(*LossScaler::Dynamic(DynamicOptions{
          .initial_scale = 1024.0, .growth_interval = 1, .max_scale = 1024.0})),
      Verdict::kFinite);
  EXPECT_TRUE(saturated.decision.saturated);
  EXPECT_FALSE(saturated.decision.floored);
  EXPECT_THAT(saturated.decision.scale_after, Eq(1024.0));
  EXPECT_THAT(saturated.decision.explanation, HasSubstr("saturated"));

  const Decided floored = MustDecide(Fresh(*LossScaler::Dynamic(DynamicOptions{
                                         .initial_scale = 1024.0,
                                         .min_scale = 1024.0,
                                         .floor_action = FloorAction::kMark,
                                         .max_consecutive_skips = 1})),
                                     Verdict::kOverflow);
  EXPECT_TRUE(floored.decision.floored);
  EXPECT_TRUE(floored.decision.stalled);
  EXPECT_FALSE(floored.decision.saturated);
  EXPECT_THAT(floored.decision.scale_after, Eq(1024.0));
  EXPECT_THAT(floored.decision.outcome, Eq(Outcome::kSkipOverflow));
}

TEST(CheckStepTest, TheOpenStepAndKeptOnesAreFine) {
  EXPECT_THAT(CheckStep(AtStep(1), 1), IsOk());
  EXPECT_THAT(CheckStep(AtStep(2000), 2000), IsOk());
  EXPECT_THAT(CheckStep(AtStep(2000), 1999), IsOk());
}

TEST(CheckStepTest, AHigherStepIsAheadAndToldTheOpenOne) {
  const absl::Status status = CheckStep(AtStep(5), 6);
  EXPECT_THAT(status, IsErrorSaying(Reason::kStepAhead, "step 5"));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("expected_step", "5")));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("step", "6")));
  EXPECT_THAT(CheckStep(AtStep(5), std::numeric_limits<std::int64_t>::max()),
              IsError(Reason::kStepAhead));
}

TEST(CheckStepTest, ExactlyTheLast1024DecisionsAreKept) {
  // With 1,024 decisions made the first is still there.
  EXPECT_THAT(CheckStep(AtStep(1025), 1), IsOk());
  // With 1,025 it is not.
  const absl::Status status = CheckStep(AtStep(1026), 1);
  EXPECT_THAT(status, IsError(Reason::kStepForgotten));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("oldest_step", "2")));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("expected_step", "1026")));
  EXPECT_THAT(CheckStep(AtStep(1026), 2), IsOk());
}

TEST(CheckStepTest, ThereIsNoStepZero) {
  EXPECT_THAT(CheckStep(AtStep(1), 0), IsError(Reason::kInvalidField));
  EXPECT_THAT(CheckStep(AtStep(5), std::numeric_limits<std::int64_t>::min()),
              IsError(Reason::kInvalidField));
}

Vote FullVote() {
  Vote vote = VoteOf(Verdict::kUnset);
  vote.stream_ids = {"s1"};
  vote.scale_used = 65536.0;
  vote.base = 0;
  vote.iteration = 3;
  vote.sum_of_squares = 1.0;
  vote.resolved = Verdict::kFinite;
  return vote;
}

TEST(CheckReplayTest, AnEqualVoteGetsTheDecision) {
  const absl::StatusOr<Decided> decided = Decide(Fresh(), FullVote(), kNow);
  ASSERT_THAT(decided, IsOk());
  Vote again = FullVote();
  // R4 is asked before a verdict is resolved.
  again.resolved = Verdict::kUnset;
  EXPECT_THAT(CheckReplay(decided->state, decided->decision, again), IsOk());
  // Rounding may change the sum, a retry the request id.
  again.sum_of_squares = 1.0000001;
  again.request_id = "another";
  EXPECT_THAT(CheckReplay(decided->state, decided->decision, again), IsOk());
}

// Hole M5: another caller's different vote never gets the stored APPLY.
TEST(CheckReplayTest, AnyDifferenceOfTheVoteAsSentIsAConflict) {
  const absl::StatusOr<Decided> decided = Decide(Fresh(), FullVote(), kNow);
  ASSERT_THAT(decided, IsOk());
  ASSERT_TRUE(decided->decision.apply());
  std::vector<Vote> others(7, FullVote());
  others[0].verdict =
      Verdict::kFinite;  // What it resolved to, but not as sent.
  others[1].verdict = Verdict::kOverflow;
  others[2].stream_ids = {"s1", "s2"};
  others[3].scale_used = std::nullopt;
  others[4].base = std::nullopt;
  others[5].iteration = 4;
  others[6].base_session_uid = "uid-0";
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_THAT(CheckReplay(decided->state, decided->decision, others[i]),
                IsError(Reason::kVoteConflict))
        << i;
  }
}

TEST(CheckReplayTest, AConflictSaysWhatWasDecidedByWhat) {
  const Decided decided = MustDecide(Fresh(), Verdict::kFinite);
  const absl::Status status =
      CheckReplay(decided.state, decided.decision, VoteOf(Verdict::kOverflow));
  EXPECT_THAT(status, IsErrorSaying(Reason::kVoteConflict, "do not apply"));
  EXPECT_THAT(MetadataOf(status), Eq(std::map<std::string, std::string>{
                                      {"step", "1"},
                                      {"outcome", "APPLY"},
                                      {"recorded_verdict", "FINITE"},
                                      {"verdict", "OVERFLOW"}}));
}

TEST(CheckReplayTest, ARestoredStepIsTheSameAnswerForEveryVote) {
  const absl::StatusOr<Decided> restored =
      Restore(Fresh(), GoldenScaler(), std::nullopt, "r", kNow);
  ASSERT_THAT(restored, IsOk());
  for (const Verdict verdict :
       {Verdict::kFinite, Verdict::kOverflow, Verdict::kSkip}) {
    EXPECT_THAT(
        CheckReplay(restored->state, restored->decision, VoteOf(verdict)),
        IsOk());
  }
}

TEST(CheckReplayTest, AnAbstentionFromAnotherSessionIsReplayedToo) {
  Vote vote = VoteOf(Verdict::kAbstain);
  vote.base = 3;
  vote.base_session_uid = "uid-0";
  const absl::StatusOr<Decided> decided = Decide(Fresh(), vote, kNow);
  ASSERT_THAT(decided, IsOk());
  EXPECT_THAT(CheckReplay(decided->state, decided->decision, vote), IsOk());
}

TEST(CheckVoteTest, AVoteNamesItsStepOrItsRequest) {
  Vote vote = VoteOf(Verdict::kFinite);
  EXPECT_THAT(CheckVote(std::nullopt, vote),
              IsError(Reason::kRequestIdRequired));
  EXPECT_THAT(CheckVote(1, vote), IsOk());
  vote.request_id = "r1";
  EXPECT_THAT(CheckVote(std::nullopt, vote), IsOk());
  vote.request_id = std::string(65, 'r');
  EXPECT_THAT(CheckVote(1, vote),
              IsErrorSaying(Reason::kInvalidField, "request_id"));
}

TEST(CheckVoteTest, StreamsStandInForAVerdictEachOnce) {
  Vote vote = VoteOf(Verdict::kUnset);
  vote.stream_ids = {"s1", "s2"};
  EXPECT_THAT(CheckVote(1, vote), IsOk());
  vote.verdict = Verdict::kFinite;
  EXPECT_THAT(CheckVote(1, vote),
              IsErrorSaying(Reason::kInvalidField, "without a verdict"));
  vote.verdict = Verdict::kUnset;
  vote.stream_ids.push_back("s1");
  EXPECT_THAT(CheckVote(1, vote),
              IsErrorSaying(Reason::kInvalidField, "\"s1\" twice"));
}

TEST(CheckVoteTest, AVoteListsAtMost1024Streams) {
  Vote vote = VoteOf(Verdict::kUnset);
  for (int i = 0; i < 1024; ++i) vote.stream_ids.push_back(std::to_string(i));
  EXPECT_THAT(CheckVote(1, vote), IsOk());
  vote.stream_ids.push_back("1024");
  EXPECT_THAT(CheckVote(1, vote),
              IsErrorSaying(Reason::kInvalidField, "at most 1024"));
}

LossScaler SavedScaler() {
  LossScaler saved = GoldenScaler();
  saved.Update(true);
  saved.Update(false);
  return saved;  // Scale 32768, one clean step.
}

// Hole H5: the step never falls and the open step is used up.
TEST(RestoreTest, EndsTheOpenStepAsAborted) {
  SessionState state = Fresh();
  state = MustDecide(state, Verdict::kFinite).state;
  state = MustDecide(state, Verdict::kOverflow).state;
  state = MustDecide(state, Verdict::kFinite).state;    // Scale 32768, step 4.
  state = MustDecide(state, Verdict::kOverflow).state;  // 16384, step 5.
  const absl::StatusOr<Decided> restored =
      Restore(state, SavedScaler(), 1, "restore-1", kNow);
  ASSERT_THAT(restored, IsOk());
  const Decision& decision = restored->decision;
  EXPECT_THAT(decision.step, Eq(5));
  EXPECT_THAT(decision.outcome, Eq(Outcome::kAborted));
  EXPECT_THAT(decision.reason, Eq(DecisionReason::kRestored));
  EXPECT_THAT(decision.scale_before, Eq(16384.0));
  EXPECT_THAT(decision.scale_after, Eq(32768.0));
  EXPECT_THAT(decision.base_before, Eq(3));
  EXPECT_THAT(decision.base_after, Eq(5));
  EXPECT_THAT(decision.epoch_after, Eq(2));
  // An aborted step counts in none of them.
  EXPECT_THAT(decision.attempted, Eq(4));
  EXPECT_THAT(decision.applied, Eq(2));
  EXPECT_THAT(decision.skipped, Eq(2));
  EXPECT_THAT(decision.votes, IsEmpty());
  EXPECT_THAT(decision.request_id, Eq("restore-1"));
  EXPECT_THAT(decision.decide_time, Eq(kNow));
  EXPECT_THAT(decision.explanation,
              Eq("ended by a restore; scale 16384 -> 32768, epoch 1 -> 2"));
  EXPECT_THAT(restored->state.scaler, Eq(SavedScaler()));
  EXPECT_THAT(restored->state.config, Eq(GoldenScaler()));
  EXPECT_THAT(restored->state.current(),
              Eq(Current{.step = 6, .scale = 32768.0, .base = 5, .epoch = 2}));
  EXPECT_THAT(restored->state.consecutive_skips, Eq(0));
  EXPECT_THAT(restored->state.revision, Eq(state.revision + 1));
}

// Hole H5: a vote computed before the restore must not count after it, even
// with the same scale.
TEST(RestoreTest, AVoteFromBeforeTheRestoreIsNotCounted) {
  const absl::StatusOr<Decided> restored =
      Restore(Fresh(), GoldenScaler(), std::nullopt, "", kNow);
  ASSERT_THAT(restored, IsOk());
  Vote vote = VoteOf(Verdict::kFinite);
  vote.base = 0;
  vote.scale_used = 65536.0;
  EXPECT_THAT(Decide(restored->state, vote, kNow), IsError(Reason::kResync));
}

// Hole H16: a doubled restore.
TEST(RestoreTest, AnotherEpochIsRefusedNamingTheCurrentOne) {
  const absl::StatusOr<Decided> first =
      Restore(Fresh(), GoldenScaler(), 1, "a", kNow);
  ASSERT_THAT(first, IsOk());
  const absl::Status second =
      Restore(first->state, GoldenScaler(), 1, "b", kNow).status();
  EXPECT_THAT(second, IsErrorSaying(Reason::kEpochMismatch, "at epoch 2"));
  EXPECT_THAT(MetadataOf(second), Eq(std::map<std::string, std::string>{
                                      {"if_epoch", "1"}, {"epoch", "2"}}));
  EXPECT_THAT(Restore(first->state, GoldenScaler(), 2, "c", kNow), IsOk());
}

TEST(RestoreTest, AScalerOfAnotherConfigurationIsRefused) {
  EXPECT_THAT(Restore(Fresh(), *LossScaler::Dynamic(65536.0, 2.0, 4),
                      std::nullopt, "", kNow),
              IsError(Reason::kConfigMismatch));
  EXPECT_THAT(Restore(Fresh(), LossScaler::None(), std::nullopt, "", kNow),
              IsError(Reason::kConfigMismatch));
  EXPECT_THAT(Restore(Fresh(*LossScaler::Static(8.0)),
                      *LossScaler::Static(16.0), std::nullopt, "", kNow),
              IsError(Reason::kConfigMismatch));
}

TEST(RestoreTest, ANumberIsNeverUsedTwice) {
  SessionState state = Fresh();
  for (std::int64_t step = 1; step <= 6; ++step) {
    const absl::StatusOr<Decided> decided =
        step % 2 == 0 ? Restore(state, GoldenScaler(), std::nullopt, "", kNow)
                      : Decide(state, VoteOf(Verdict::kFinite), kNow);
    ASSERT_THAT(decided, IsOk());
    EXPECT_THAT(decided->decision.step, Eq(step));
    state = decided->state;
  }
  EXPECT_THAT(state.epoch, Eq(4));
  EXPECT_THAT(state.base, Eq(6));
}

}  // namespace
}  // namespace lossscaler
