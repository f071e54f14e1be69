// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/record_codec.h"

#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "store_fixture.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::Eq;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

SessionState EveryField() {
  DynamicOptions options = {
      .initial_scale = 4096.5,
      .growth_factor = 1.1,
      .backoff_factor = 0.3,
      .growth_interval = 77,
      .min_scale = 0.25,
      .max_scale = 70000,
      .hysteresis = 3,
      .hysteresis_refill = HysteresisRefill::kOnCleanStepOrBackoff,
      .growth_count = GrowthCount::kOneMoreAlways,
      .precision = StatePrecision::kFloat64,
      .finite_guard = FiniteGuard::kClamp,
      .unscale_arithmetic = UnscaleArithmetic::kMultiplyByReciprocal,
      .floor_action = FloorAction::kMark,
      .max_consecutive_skips = 9};
  SessionState state = NewState("team/project/run", "uid-1");
  state.config = *LossScaler::Dynamic(options);
  state.scaler = *LossScaler::Dynamic(options, {.scale = 0.1 * 16384,
                                                .steps_since_overflow = 5,
                                                .hysteresis_left = 2,
                                                .consecutive_skips = 4});
  state.step = 100;
  state.base = 90;
  state.epoch = 3;
  state.applied = 60;
  state.skipped = 30;
  state.consecutive_skips = 4;
  state.revision = 104;
  state.create_time = absl::FromUnixNanos(1'767'323'045'678'901'234);
  return state;
}

TEST(RecordCodecTest, KeepsEveryFieldOfASession) {
  const SessionState state = EveryField();
  EXPECT_THAT(DecodeSession(EncodeSession(state)), IsOkAndHolds(Eq(state)));
}

// A group in the middle of a step.
SessionState EveryGroupField() {
  SessionState state = EveryField();
  state.base = 4711;
  state.base_uid = "uid-0";
  const Checkpoint checkpoint = {.scaler = state.config,
                                 .base = {.session_uid = "uid-0", .step = 4711},
                                 .iteration = 0};
  state.group = GroupState{
      .config = {.min_workers = 2,
                 .max_workers = 9,
                 .lease_ttl = absl::Milliseconds(5'500),
                 .step_timeout = absl::Minutes(2),
                 .on_loss = LossPolicy::kAbort,
                 .on_timeout = StragglerPolicy::kWait,
                 .max_timeouts = 7,
                 .early_decision = false,
                 .parts = PartPolicy::kEach,
                 .degraded_skips = 5},
      .members = {{.worker = "w1",
                   .incarnation = 3,
                   .resume_token = "token-3",
                   .join_request_id = "join-3",
                   .state = MemberState::kLeft,
                   .left_after_voting = true,
                   .checkpoint = {}},
                  {.worker = "w0",
                   .incarnation = 4,
                   .resume_token = "token-4",
                   .join_request_id = "join-4",
                   .state = MemberState::kPending,
                   .checkpoint = checkpoint},
                  {.worker = "w2",
                   .incarnation = 5,
                   .resume_token = "token-5",
                   .join_request_id = "join-5",
                   .state = MemberState::kLost,
                   .checkpoint = {}}},
      .next_incarnation = 6,
      .attempt = 2,
      .open = true,
      .timeouts = 1,
      .departed =
          {{.worker = "w1", .join_request_id = "join-1", .incarnation = 1},
           {.worker = "w0", .join_request_id = "join-2", .incarnation = 2}},
      .restore_required = true};
  return state;
}

TEST(RecordCodecTest, KeepsEveryFieldOfAGroup) {
  const SessionState state = EveryGroupField();
  EXPECT_THAT(DecodeSession(EncodeSession(state)), IsOkAndHolds(Eq(state)));
}

TEST(RecordCodecTest, KeepsAGroupThatNobodyHasJoined) {
  SessionState state = EveryField();
  state.group = GroupState{};
  EXPECT_THAT(DecodeSession(EncodeSession(state)), IsOkAndHolds(Eq(state)));
}

TEST(RecordCodecTest, RefusesValuesThatNoGroupCanHave) {
  const auto refused = [](void (*spoil)(GroupState*)) {
    SessionState state = EveryGroupField();
    spoil(&*state.group);
    return DecodeSession(EncodeSession(state));
  };
  EXPECT_THAT(refused([](GroupState* g) { g->config.max_workers = 0; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](GroupState* g) { g->open = false; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](GroupState* g) { g->members[1].incarnation = 3; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](GroupState* g) { g->members[0].incarnation = 0; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](GroupState* g) { g->next_incarnation = 5; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](GroupState* g) { g->attempt = -1; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](GroupState* g) { g->timeouts = -1; }),
              HasCode(kDataLoss));
  EXPECT_THAT(
      refused([](GroupState* g) { g->members[1].checkpoint->base.step = -1; }),
      HasCode(kDataLoss));
}

TEST(RecordCodecTest, KeepsEveryFieldOfAGroupsDecision) {
  Decision decision = {
      .step = 41,
      .outcome = Outcome::kApply,
      .reason = DecisionReason::kPartsOverflow,
      .base_before_session_uid = "uid-0",
      .base_after_session_uid = "uid-1",
      .votes = {{.worker = "w0",
                 .incarnation = 4,
                 .verdict = Verdict::kOverflow,
                 .base_session_uid = "uid-0",
                 .parts = {{.name = "critic",
                            .verdict = Verdict::kOverflow,
                            .sum_of_squares = 0.5}},
                 .resolved = Verdict::kOverflow}},
      .overflow = true,
      .parts = {{.name = "critic", .apply = false, .sum_of_squares = 2.5}},
      .lost = {"w1"},
      .evicted = {"w2", "w3"},
      .next_iteration = 0,
      .sum_of_squares = 2.5,
      .request_id = {}};
  EXPECT_THAT(DecodeDecision(EncodeDecision(decision)),
              IsOkAndHolds(Eq(decision)));
}

TEST(RecordCodecTest, KeepsEveryKindOfScaler) {
  for (const LossScaler& scaler :
       {LossScaler::None(), *LossScaler::Static(0.1f), PlainScaler()}) {
    SessionState state = NewState("run", "uid");
    state.config = scaler;
    state.scaler = scaler;
    EXPECT_THAT(DecodeSession(EncodeSession(state)), IsOkAndHolds(Eq(state)));
  }
}

TEST(RecordCodecTest, KeepsEveryFieldOfADecision) {
  const Decision decision = {
      .step = 41,
      .outcome = Outcome::kSkipOverflow,
      .reason = DecisionReason::kOverflow,
      .explanation = "the vote found an overflow: scale 1024 -> 512",
      .scale_before = 1024,
      .scale_after = 512,
      .base_before = 39,
      .base_after = 39,
      .epoch_after = 2,
      .attempted = 40,
      .applied = 35,
      .skipped = 5,
      .votes = {{.verdict = Verdict::kUnset,
                 .stream_ids = {"first", "second"},
                 .scale_used = 1024,
                 .base = 39,
                 .iteration = 1234,
                 .sum_of_squares = 0.1,
                 .request_id = "vote",
                 .resolved = Verdict::kOverflow},
                {.verdict = Verdict::kAbstain, .resolved = Verdict::kAbstain}},
      .saturated = true,
      .floored = true,
      .stalled = true,
      .request_id = "restore",
      .decide_time = absl::FromUnixNanos(1'767'323'045'678'901'234)};
  EXPECT_THAT(DecodeDecision(EncodeDecision(decision)),
              IsOkAndHolds(Eq(decision)));
}

TEST(RecordCodecTest, RefusesWhatIsNoRecord) {
  for (const std::string& bytes :
       {std::string(), std::string("not a record"), std::string(64, '\xff')}) {
    EXPECT_THAT(DecodeSession(bytes), HasCode(kDataLoss)) << bytes;
    EXPECT_THAT(DecodeDecision(bytes), HasCode(kDataLoss)) << bytes;
  }
}

TEST(RecordCodecTest, RefusesATruncatedRecord) {
  const std::string session = EncodeSession(EveryField());
  EXPECT_THAT(DecodeSession(session.substr(0, session.size() - 1)),
              HasCode(kDataLoss));
  EXPECT_THAT(DecodeSession(session.substr(0, session.size() / 2)),
              HasCode(kDataLoss));
}

TEST(RecordCodecTest, RefusesValuesThatNoSessionCanHave) {
  const auto refused = [](void (*spoil)(SessionState*)) {
    SessionState state = EveryField();
    spoil(&state);
    return DecodeSession(EncodeSession(state));
  };
  EXPECT_THAT(refused([](SessionState* s) { s->name = ""; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->uid = ""; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->revision = 0; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->step = 0; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->epoch = 0; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->base = 100; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->base = -1; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->skipped = 40; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->skipped = -1; }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->config = PlainScaler(); }),
              HasCode(kDataLoss));
  EXPECT_THAT(refused([](SessionState* s) { s->base_uid = s->uid; }),
              HasCode(kDataLoss));
}

TEST(RecordCodecTest, RefusesAScalerThatIsNotValid) {
  SessionState state = NewState("run", "uid");
  state.config = *LossScaler::Static(4096);
  state.scaler = state.config;
  // Protobuf stores a double as its eight bytes.
  const auto bytes_of = [](double value) {
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  };
  const std::string record = EncodeSession(state);
  ASSERT_TRUE(absl::StrContains(record, bytes_of(4096)));
  EXPECT_THAT(DecodeSession(absl::StrReplaceAll(
                  record, {{bytes_of(4096), bytes_of(-1)}})),
              HasCode(kDataLoss));
}

}  // namespace
}  // namespace lossscaler::server
