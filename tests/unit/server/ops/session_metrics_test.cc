// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "metrics_fixture.h"

namespace lossscaler::server {
namespace {

using ::testing::Eq;
using ::testing::Optional;

using SessionMetricsTest = MetricsTest;

TEST_F(SessionMetricsTest, SessionsAreCountedByKindFromLoadToDelete) {
  const SessionState solo = SoloSession("a", "1");
  const SessionState other = SoloSession("b", "2");
  const SessionState group = GroupSession("c", {});
  Change(Cause::kLoad, nullptr, &solo);
  Change(Cause::kLoad, nullptr, &group);
  Change(Cause::kCreate, nullptr, &other);
  EXPECT_THAT(Value(R"(lossscaler_sessions{kind="solo"})"), Optional(2));
  EXPECT_THAT(Value(R"(lossscaler_sessions{kind="group"})"), Optional(1));
  Change(Cause::kDelete, &solo, nullptr);
  Change(Cause::kDelete, &group, nullptr);
  EXPECT_THAT(Value(R"(lossscaler_sessions{kind="solo"})"), Optional(1));
  EXPECT_THAT(Value(R"(lossscaler_sessions{kind="group"})"), Optional(0));
}

TEST_F(SessionMetricsTest, LiveWorkersAreCountedByState) {
  using enum MemberState;
  const SessionState empty = GroupSession("g", {});
  const SessionState two = GroupSession("g", {kActive, kPending});
  const SessionState both = GroupSession("g", {kActive, kActive});
  const SessionState lost = GroupSession("g", {kActive, kLost, kLeft});
  Change(Cause::kLoad, nullptr, &empty);
  Change(Cause::kJoin, &empty, &two);
  EXPECT_THAT(Value(R"(lossscaler_workers{state="active"})"), Optional(1));
  EXPECT_THAT(Value(R"(lossscaler_workers{state="pending"})"), Optional(1));
  Change(Cause::kDue, &two, &both);
  EXPECT_THAT(Value(R"(lossscaler_workers{state="active"})"), Optional(2));
  EXPECT_THAT(Value(R"(lossscaler_workers{state="pending"})"), Optional(0));
  Change(Cause::kDue, &both, &lost);
  EXPECT_THAT(Value(R"(lossscaler_workers{state="active"})"), Optional(1));
  Change(Cause::kDelete, &lost, nullptr);
  EXPECT_THAT(Value(R"(lossscaler_workers{state="active"})"), Optional(0));
}

TEST_F(SessionMetricsTest, ComingAndGoingIsCountedByItsKind) {
  using enum WorkerChange::Kind;
  const SessionState group = GroupSession("g", {});
  std::vector<WorkerChange> workers;
  for (const auto& [kind, times] :
       {std::pair(kJoined, 5), std::pair(kActivated, 9), std::pair(kLeft, 1),
        std::pair(kExpired, 2), std::pair(kReplaced, 3),
        std::pair(kEvicted, 7)}) {
    for (int i = 0; i < times; ++i) workers.push_back({kind, "w", i});
  }
  Change(Cause::kDue, &group, &group, nullptr, workers);
  EXPECT_THAT(Value("lossscaler_workers_joined_total"), Optional(5));
  EXPECT_THAT(Value("lossscaler_workers_left_total"), Optional(1));
  EXPECT_THAT(Value("lossscaler_lease_expiries_total"), Optional(2));
  EXPECT_THAT(Value("lossscaler_workers_replaced_total"), Optional(3));
}

TEST_F(SessionMetricsTest, DecisionsAreCountedByOutcomeAndReason) {
  const SessionState solo = SoloSession("a", "1");
  Decision apply;
  Decision skip;
  skip.outcome = Outcome::kSkipOverflow;
  skip.reason = DecisionReason::kOverflow;
  Decision restored;
  restored.outcome = Outcome::kAborted;
  restored.reason = DecisionReason::kRestored;
  Change(Cause::kVote, &solo, &solo, &apply);
  Change(Cause::kVote, &solo, &solo, &skip);
  Change(Cause::kVote, &solo, &solo, &skip);
  Change(Cause::kRestore, &solo, &solo, &restored);
  Change(Cause::kJoin, &solo, &solo);
  const auto text = Text();
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="APPLY",reason="FINITE"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="SKIP_OVERFLOW",reason="OVERFLOW"})"),
      Optional(2));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="ABORTED",reason="RESTORED"})"),
      Optional(1));
  EXPECT_THAT(
      text.Find(
          R"(lossscaler_decisions_total{outcome="SKIP",reason="TIMEOUT"})"),
      Optional(0));
}

TEST_F(SessionMetricsTest, WhatBecameOfTheScaleIsCounted) {
  const SessionState well = SoloSession("a", "1");
  SessionState stuck = well;
  stuck.consecutive_skips = 50;
  Decision saturated;
  saturated.saturated = true;
  Decision floored;
  floored.floored = true;
  const Decision plain;
  Change(Cause::kVote, &well, &well, &saturated);
  Change(Cause::kVote, &well, &well, &floored);
  Change(Cause::kVote, &well, &stuck, &plain);
  Change(Cause::kVote, &well, &well, &plain);
  EXPECT_THAT(Value("lossscaler_decisions_saturated_total"), Optional(1));
  EXPECT_THAT(Value("lossscaler_decisions_floored_total"), Optional(1));
  // The floor, and the fiftieth skip in a row.
  EXPECT_THAT(Value("lossscaler_decisions_degraded_total"), Optional(2));
}

TEST_F(SessionMetricsTest, TheLastDecisionIsZeroUntilThereIsOne) {
  const SessionState solo = SoloSession("a", "1");
  Change(Cause::kLoad, nullptr, &solo);
  EXPECT_THAT(Value("lossscaler_last_decision_timestamp_seconds"), Optional(0));
  Decision decision;
  decision.decide_time = absl::FromUnixMillis(1'767'323'045'250);
  Change(Cause::kVote, &solo, &solo, &decision);
  EXPECT_THAT(Value("lossscaler_last_decision_timestamp_seconds"),
              Optional(1'767'323'045.25));
}

TEST_F(SessionMetricsTest, VotesWaitUntilTheyAreAnswered) {
  metrics_->sessions().OnVote();
  metrics_->sessions().OnVote();
  EXPECT_THAT(Value("lossscaler_waiting_votes"), Optional(2));
  EXPECT_THAT(Value("lossscaler_decision_wait_seconds_count"), Optional(0));
  metrics_->sessions().OnVoteAnswered(absl::Milliseconds(3),
                                      /*decided=*/true);
  const auto text = Text();
  EXPECT_THAT(text.Find("lossscaler_waiting_votes"), Optional(1));
  EXPECT_THAT(
      text.Find(R"(lossscaler_decision_wait_seconds_bucket{le="0.0025"})"),
      Optional(0));
  EXPECT_THAT(
      text.Find(R"(lossscaler_decision_wait_seconds_bucket{le="0.005"})"),
      Optional(1));
}

TEST_F(SessionMetricsTest, ARefusedVoteWaitsForNoDecision) {
  metrics_->sessions().OnVote();
  metrics_->sessions().OnVoteAnswered(absl::Milliseconds(3),
                                      /*decided=*/false);
  EXPECT_THAT(Value("lossscaler_waiting_votes"), Optional(0));
  EXPECT_THAT(Value("lossscaler_decision_wait_seconds_count"), Optional(0));
}

TEST_F(SessionMetricsTest, BytesElementsAndBadValuesAddUp) {
  UnscaleVerdict good;
  good.element_count = 100;
  UnscaleVerdict bad;
  bad.element_count = 10;
  bad.nan_count = 1;
  bad.positive_infinity_count = 2;
  bad.negative_infinity_count = 4;
  metrics_->sessions().OnUnscaled(400, good);
  metrics_->sessions().OnUnscaled(20, bad);
  EXPECT_THAT(Value("lossscaler_unscale_bytes_total"), Optional(420));
  EXPECT_THAT(Value("lossscaler_unscale_elements_total"), Optional(110));
  EXPECT_THAT(Value(R"(lossscaler_non_finite_values_total{kind="nan"})"),
              Optional(1));
  EXPECT_THAT(Value(R"(lossscaler_non_finite_values_total{kind="inf"})"),
              Optional(6));
}

TEST_F(SessionMetricsTest, NoSessionHasSeriesOfItsOwnUnlessAsked) {
  const SessionState solo = SoloSession("a", "1");
  Change(Cause::kCreate, nullptr, &solo);
  EXPECT_THAT(metrics_->Text(), Not(::testing::HasSubstr("session=")));
  EXPECT_THAT(Value("lossscaler_session_metrics_left_out"), Eq(std::nullopt));
}

class SessionSeriesTest : public MetricsTest {
 protected:
  SessionSeriesTest() { MakeMetrics(/*sessions=*/true); }
};

TEST_F(SessionSeriesTest, FollowTheSession) {
  SessionState first = SoloSession("team/run", "1");
  first.step = 4;
  SessionState second = first;
  second.step = 5;
  second.scaler = *LossScaler::Dynamic(512, 2, 2000);
  Change(Cause::kLoad, nullptr, &first);
  EXPECT_THAT(Value(R"(lossscaler_session_scale{session="team/run"})"),
              Optional(1024));
  EXPECT_THAT(Value(R"(lossscaler_session_step{session="team/run"})"),
              Optional(4));
  EXPECT_THAT(
      Value(
          R"(lossscaler_session_last_decision_timestamp_seconds{session="team/run"})"),
      Optional(0));
  Decision decision;
  decision.decide_time = MetricsStart();
  Change(Cause::kVote, &first, &second, &decision);
  EXPECT_THAT(Value(R"(lossscaler_session_scale{session="team/run"})"),
              Optional(512));
  EXPECT_THAT(Value(R"(lossscaler_session_step{session="team/run"})"),
              Optional(5));
  EXPECT_THAT(
      Value(
          R"(lossscaler_session_last_decision_timestamp_seconds{session="team/run"})"),
      Optional(1'767'323'045));
  Change(Cause::kDelete, &second, nullptr);
  EXPECT_THAT(metrics_->Text(), Not(::testing::HasSubstr("team/run")));
}

TEST_F(SessionSeriesTest, AnOldSessionsEndLeavesTheNewOneOfItsNameAlone) {
  const SessionState old = SoloSession("a", "old");
  SessionState fresh = SoloSession("a", "new");
  fresh.step = 9;
  Change(Cause::kCreate, nullptr, &old);
  Change(Cause::kCreate, nullptr, &fresh);
  // As another thread may say it late.
  Change(Cause::kVote, &old, &old);
  Change(Cause::kDelete, &old, nullptr);
  EXPECT_THAT(Value(R"(lossscaler_session_step{session="a"})"), Optional(9));
}

TEST_F(SessionSeriesTest, TheFirstThousandByNameAreShownAndTheRestCounted) {
  for (int i = 2'999; i >= 1'000; --i) {
    const SessionState session =
        SoloSession(absl::StrCat("s", i), absl::StrCat(i));
    Change(Cause::kLoad, nullptr, &session);
  }
  const auto text = Text();
  EXPECT_THAT(text.families().at("lossscaler_session_scale").series.size(),
              Eq(1'000u));
  EXPECT_THAT(text.Find(R"(lossscaler_session_step{session="s1000"})"),
              Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_session_step{session="s1999"})"),
              Optional(1));
  EXPECT_THAT(text.Find(R"(lossscaler_session_step{session="s2000"})"),
              Eq(std::nullopt));
  EXPECT_THAT(text.Find("lossscaler_session_metrics_left_out"),
              Optional(1'000));
}

}  // namespace
}  // namespace lossscaler::server
