// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/group_convert.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/convert.h"
#include "testing/every_field.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler::wire {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::lossscaler::testing::UnsetFields;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Pair;

// ---- Enumerators --------------------------------------------------------
//
// The compiler refuses the switches below once core has an enumerator that
// they lack; the loops fail once the proto has one.

constexpr int kNoGroupMirror = -1;

int Mirror(LossPolicy value) {
  switch (value) {
    case LossPolicy::kSkip:
      return v1::LOSS_POLICY_SKIP;
    case LossPolicy::kProceed:
      return v1::LOSS_POLICY_PROCEED;
    case LossPolicy::kAbort:
      return v1::LOSS_POLICY_ABORT;
  }
  return kNoGroupMirror;
}

int Mirror(StragglerPolicy value) {
  switch (value) {
    case StragglerPolicy::kSkip:
      return v1::STRAGGLER_POLICY_SKIP;
    case StragglerPolicy::kWait:
      return v1::STRAGGLER_POLICY_WAIT;
    case StragglerPolicy::kAbort:
      return v1::STRAGGLER_POLICY_ABORT;
    case StragglerPolicy::kProceed:
      return v1::STRAGGLER_POLICY_PROCEED;
  }
  return kNoGroupMirror;
}

int Mirror(PartPolicy value) {
  switch (value) {
    case PartPolicy::kAll:
      return v1::PART_POLICY_ALL;
    case PartPolicy::kEach:
      return v1::PART_POLICY_EACH;
  }
  return kNoGroupMirror;
}

v1::GroupConfig SmallGroup() {
  v1::GroupConfig proto;
  proto.set_max_workers(4);
  return proto;
}

// Every enumerator of a policy arrives at its mirror, and comes back.
template <typename Set, typename Get, typename Policy>
void CheckPolicy(const google::protobuf::EnumDescriptor* descriptor, Set set,
                 Get get, Policy policy) {
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const int value = descriptor->value(i)->number();
    SCOPED_TRACE(descriptor->value(i)->name());
    v1::GroupConfig proto = SmallGroup();
    set(&proto, value);
    const absl::StatusOr<GroupConfig> config = GroupConfigFromProto(proto);
    ASSERT_THAT(config, IsOk());
    // Unset is the default, which is the first.
    const int expected = value == 0 ? 1 : value;
    EXPECT_THAT(Mirror(policy(*config)), Eq(expected));
    v1::GroupConfig back;
    ToProto(*config, &back);
    EXPECT_THAT(get(back), Eq(expected));
  }
  v1::GroupConfig unknown = SmallGroup();
  set(&unknown, descriptor->value_count());
  const absl::StatusOr<GroupConfig> config = GroupConfigFromProto(unknown);
  EXPECT_THAT(config, IsErrorSaying(Reason::kInvalidGroup, "unknown value"));
  EXPECT_THAT(
      MetadataOf(config.status()),
      Contains(Pair("value", std::to_string(descriptor->value_count()))));
}

#define CHECK_POLICY(Enum, field)                                 \
  CheckPolicy(                                                    \
      v1::Enum##_descriptor(),                                    \
      [](v1::GroupConfig* proto, int value) {                     \
        proto->set_##field(static_cast<v1::Enum>(value));         \
      },                                                          \
      [](const v1::GroupConfig& proto) { return proto.field(); }, \
      [](const GroupConfig& config) { return config.field; })

TEST(GroupEnumTest, PoliciesMirrorTheProto) {
  CHECK_POLICY(LossPolicy, on_loss);
  CHECK_POLICY(StragglerPolicy, on_timeout);
  CHECK_POLICY(PartPolicy, parts);
}

// The name in core is that of the proto without its prefix.
TEST(GroupEnumTest, WorkerStatesMirrorTheProto) {
  const auto* descriptor = v1::WorkerState_descriptor();
  for (int i = 1; i < descriptor->value_count(); ++i) {
    const auto proto = static_cast<v1::WorkerState>(i);
    const absl::StatusOr<MemberState> state = MemberStateFromProto(proto);
    ASSERT_THAT(state, IsOk());
    EXPECT_THAT("WORKER_STATE_" + std::string(MemberStateName(*state)),
                Eq(v1::WorkerState_Name(proto)));
    EXPECT_THAT(ToProto(*state), Eq(proto));
  }
  EXPECT_THAT(
      MemberStateName(static_cast<MemberState>(descriptor->value_count() - 1)),
      Eq("UNKNOWN"))
      << "core has more than the proto";
}

TEST(GroupEnumTest, PhasesMirrorTheProto) {
  const auto* descriptor = v1::GroupPhase_descriptor();
  for (int i = 1; i < descriptor->value_count(); ++i) {
    const auto proto = static_cast<v1::GroupPhase>(i);
    const absl::StatusOr<GroupPhase> phase = GroupPhaseFromProto(proto);
    ASSERT_THAT(phase, IsOk());
    EXPECT_THAT("GROUP_PHASE_" + std::string(GroupPhaseName(*phase)),
                Eq(v1::GroupPhase_Name(proto)));
    EXPECT_THAT(ToProto(*phase), Eq(proto));
  }
  EXPECT_THAT(
      GroupPhaseName(static_cast<GroupPhase>(descriptor->value_count() - 1)),
      Eq("UNKNOWN"))
      << "core has more than the proto";
}

TEST(GroupEnumTest, AnUnsetOrUnknownStateOrPhaseIsRefused) {
  for (const int value : {0, 5, -1}) {
    EXPECT_THAT(MemberStateFromProto(static_cast<v1::WorkerState>(value)),
                IsErrorSaying(Reason::kInvalidField, "worker state"));
  }
  for (const int value : {0, 6, -1}) {
    EXPECT_THAT(GroupPhaseFromProto(static_cast<v1::GroupPhase>(value)),
                IsErrorSaying(Reason::kInvalidField, "phase"));
  }
}

// ---- Configuration ------------------------------------------------------

TEST(GroupConfigTest, EveryFieldRoundTrips) {
  const GroupConfig config{.min_workers = 2,
                           .max_workers = 7,
                           .lease_ttl = absl::Milliseconds(5'250),
                           .step_timeout = absl::Seconds(61),
                           .on_loss = LossPolicy::kAbort,
                           .on_timeout = StragglerPolicy::kProceed,
                           .max_timeouts = 5,
                           .early_decision = false,
                           .parts = PartPolicy::kEach,
                           .degraded_skips = 8};
  v1::GroupConfig proto;
  ToProto(config, &proto);
  EXPECT_THAT(UnsetFields(proto), IsEmpty());
  EXPECT_THAT(GroupConfigFromProto(proto), IsOkAndHolds(Eq(config)));
}

// The numbers are those of the design.
TEST(GroupConfigTest, UnsetMeansTheDefault) {
  const absl::StatusOr<GroupConfig> config = GroupConfigFromProto(SmallGroup());
  ASSERT_THAT(config, IsOk());
  EXPECT_THAT(config->min_workers, Eq(4));
  EXPECT_THAT(config->max_workers, Eq(4));
  EXPECT_THAT(config->lease_ttl, Eq(absl::Seconds(30)));
  EXPECT_THAT(config->step_timeout, Eq(absl::Minutes(10)));
  EXPECT_THAT(config->max_timeouts, Eq(3));
  EXPECT_THAT(config->degraded_skips, Eq(50));
  EXPECT_TRUE(config->early_decision);
}

TEST(GroupConfigTest, WhatCoreRefusesIsRefusedNamingTheField) {
  const std::vector<
      std::pair<std::string, std::function<void(v1::GroupConfig*)>>>
      cases = {
          {"max_workers", [](auto* p) { p->clear_max_workers(); }},
          {"max_workers", [](auto* p) { p->set_max_workers(4097); }},
          {"min_workers", [](auto* p) { p->set_min_workers(5); }},
          {"min_workers", [](auto* p) { p->set_min_workers(0); }},
          {"lease_ttl", [](auto* p) { p->mutable_lease_ttl(); }},
          {"lease_ttl",
           [](auto* p) { p->mutable_lease_ttl()->set_seconds(3601); }},
          {"step_timeout",
           [](auto* p) { p->mutable_step_timeout()->set_nanos(999'999'999); }},
          {"step_timeout",
           [](auto* p) {
             p->mutable_step_timeout()->set_seconds(
                 std::numeric_limits<std::int64_t>::max());
           }},
          {"max_timeouts", [](auto* p) { p->set_max_timeouts(0); }},
          {"degraded_skips", [](auto* p) { p->set_degraded_skips(0); }},
      };
  for (const auto& [field, spoil] : cases) {
    v1::GroupConfig proto = SmallGroup();
    spoil(&proto);
    const absl::StatusOr<GroupConfig> config = GroupConfigFromProto(proto);
    EXPECT_THAT(config, IsErrorSaying(Reason::kInvalidGroup, field));
  }
}

// ---- Checkpoints --------------------------------------------------------

TEST(CheckpointTest, EveryFieldRoundTrips) {
  const Checkpoint checkpoint{.scaler = GoldenScaler(),
                              .base = {.session_uid = "uid", .step = 39},
                              .iteration = 0};
  v1::Checkpoint proto;
  ToProto(checkpoint, &proto);
  EXPECT_THAT(UnsetFields(proto), IsEmpty());
  EXPECT_THAT(UnsetFields(proto.base()), IsEmpty());
  EXPECT_THAT(CheckpointFromProto(proto), IsOkAndHolds(Eq(checkpoint)));
}

TEST(CheckpointTest, WithoutABaseItHoldsTheInitialParameters) {
  v1::Checkpoint proto;
  ToProto(GoldenScaler(), proto.mutable_scaler());
  const absl::StatusOr<Checkpoint> checkpoint = CheckpointFromProto(proto);
  ASSERT_THAT(checkpoint, IsOk());
  EXPECT_THAT(checkpoint->base, Eq(Base{}));
  EXPECT_THAT(checkpoint->iteration, Eq(std::nullopt));
}

TEST(CheckpointTest, WhatNoProcessCanHaveLoadedIsRefused) {
  EXPECT_THAT(CheckpointFromProto(v1::Checkpoint()),
              IsError(Reason::kInvalidScaler));
  v1::Checkpoint good;
  ToProto(Checkpoint{.scaler = GoldenScaler(),
                     .base = {.session_uid = "uid", .step = 39},
                     .iteration = {}},
          &good);
  v1::Checkpoint proto = good;
  proto.mutable_base()->set_step(-1);
  EXPECT_THAT(CheckpointFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "base.step is -1"));
  for (const std::string& uid : {std::string(), std::string(65, 'x')}) {
    proto = good;
    proto.mutable_base()->set_session_uid(uid);
    EXPECT_THAT(CheckpointFromProto(proto),
                IsErrorSaying(Reason::kInvalidField, "base.session_uid"));
  }
}

// ---- Workers ------------------------------------------------------------

MemberView FullView() {
  MemberView view;
  view.member.worker = "rank-3";
  view.member.incarnation = 7;
  view.member.state = MemberState::kActive;
  view.member.checkpoint =
      Checkpoint{.scaler = GoldenScaler(), .base = {}, .iteration = 12};
  view.lease_left = absl::Milliseconds(12'250);
  view.vote = testing::VoteOf(Verdict::kFinite);
  view.late_overflow = 41;
  return view;
}

TEST(WorkerTest, EveryFieldRoundTrips) {
  v1::Worker proto;
  ToProto(FullView(), &proto);
  EXPECT_THAT(UnsetFields(proto), IsEmpty());
  const absl::StatusOr<MemberView> view = MemberViewFromProto(proto);
  ASSERT_THAT(view, IsOk());
  EXPECT_THAT(view->member, Eq(FullView().member));
  EXPECT_THAT(view->lease_left, Eq(FullView().lease_left));
  EXPECT_THAT(view->vote, Eq(FullView().vote));
  EXPECT_THAT(view->late_overflow, Eq(41));
}

// Whoever has the token takes the worker's place.
TEST(WorkerTest, TokensAndRequestIdsStayWithTheServer) {
  MemberView view = FullView();
  view.member.resume_token = "secret-token";
  view.member.join_request_id = "secret-request";
  v1::Worker proto;
  ToProto(view, &proto);
  EXPECT_THAT(proto.SerializeAsString().find("secret"), Eq(std::string::npos));
}

TEST(WorkerTest, WhatDoesNotParseIsRefused) {
  v1::Worker good;
  ToProto(FullView(), &good);
  v1::Worker proto = good;
  proto.clear_state();
  EXPECT_THAT(MemberViewFromProto(proto), IsError(Reason::kInvalidField));
  proto = good;
  proto.mutable_vote()->set_verdict(static_cast<v1::Verdict>(9));
  EXPECT_THAT(MemberViewFromProto(proto), IsError(Reason::kInvalidField));
  proto = good;
  proto.mutable_checkpoint()->clear_scaler();
  EXPECT_THAT(MemberViewFromProto(proto), IsError(Reason::kInvalidScaler));
}

TEST(DegradedTest, RoundTrips) {
  const Degraded degraded{.reason = "50 skips", .workers = {"w1", "w0"}};
  v1::Degraded proto;
  ToProto(degraded, &proto);
  EXPECT_THAT(UnsetFields(proto), IsEmpty());
  EXPECT_THAT(DegradedFromProto(proto), Eq(degraded));
}

// ---- Membership ---------------------------------------------------------

TEST(MembershipTest, EveryFieldRoundTrips) {
  const Membership membership{
      .state = MemberState::kActive,
      .phase = GroupPhase::kPaused,
      .current = {.step = 4, .scale = 0.5, .base = 3, .epoch = 2},
      .closed =
          MakeRetryableError(Reason::kSessionPaused, "wait",
                             absl::Milliseconds(1500), {{"workers", "1"}})};
  v1::Membership proto;
  ToProto(membership, &proto);
  EXPECT_THAT(UnsetFields(proto), IsEmpty());
  const absl::StatusOr<Membership> back = MembershipFromProto(proto);
  ASSERT_THAT(back, IsOk());
  EXPECT_THAT(back->state, Eq(membership.state));
  EXPECT_THAT(back->phase, Eq(membership.phase));
  EXPECT_THAT(back->current, Eq(membership.current));
  EXPECT_THAT(back->closed, Eq(membership.closed));
}

TEST(MembershipTest, AnOpenSessionHasNoErrorToTell) {
  v1::Membership proto;
  ToProto(Membership{.state = MemberState::kPending,
                     .phase = GroupPhase::kOpen,
                     .current = {},
                     .closed = {}},
          &proto);
  EXPECT_FALSE(proto.has_closed());
  ASSERT_THAT(MembershipFromProto(proto), IsOk());
  EXPECT_THAT(MembershipFromProto(proto)->closed, IsOk());
}

TEST(MembershipTest, AStateOrPhaseOfANewerServerIsRefused) {
  v1::Membership good;
  ToProto(Membership(), &good);
  v1::Membership proto = good;
  proto.set_state(static_cast<v1::WorkerState>(9));
  EXPECT_THAT(MembershipFromProto(proto), IsError(Reason::kInvalidField));
  proto = good;
  proto.set_phase(static_cast<v1::GroupPhase>(9));
  EXPECT_THAT(MembershipFromProto(proto), IsError(Reason::kInvalidField));
}

// ---- Joins and other calls ----------------------------------------------

TEST(WorkerRefTest, IsWhoAsks) {
  const absl::StatusOr<WorkerRef> worker = WorkerRefOf("rank-3", 7);
  ASSERT_THAT(worker, IsOk());
  EXPECT_THAT(worker->worker, Eq("rank-3"));
  EXPECT_THAT(worker->incarnation, Eq(7));
}

TEST(WorkerRefTest, WhatNoWorkerCanBeIsRefused) {
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string("a b"),
        std::string("\xc3\xa9")}) {
    EXPECT_THAT(WorkerRefOf(name, 1),
                IsErrorSaying(Reason::kInvalidField, "worker"));
  }
  for (const std::int64_t incarnation : {0, -1}) {
    EXPECT_THAT(WorkerRefOf("w", incarnation),
                IsErrorSaying(Reason::kInvalidField, "incarnation"));
  }
}

TEST(JoinTest, EveryFieldRoundTripsButTheNewToken) {
  const JoinEvent event{
      .worker = "rank-3",
      .request_id = "join-1",
      .resume_token = "token-1",
      .new_token = "never sent",
      .attempt = 2,
      .checkpoint =
          Checkpoint{.scaler = GoldenScaler(), .base = {}, .iteration = 3}};
  v1::JoinSessionRequest request;
  JoinToRequest(event, &request);
  EXPECT_THAT(UnsetFields(request), ElementsAre("session", "session_uid"));
  const absl::StatusOr<JoinEvent> back = JoinFromRequest(request);
  ASSERT_THAT(back, IsOk());
  EXPECT_THAT(back->worker, Eq(event.worker));
  EXPECT_THAT(back->request_id, Eq(event.request_id));
  EXPECT_THAT(back->resume_token, Eq(event.resume_token));
  EXPECT_THAT(back->new_token, Eq(""));
  EXPECT_THAT(back->attempt, Eq(event.attempt));
  EXPECT_THAT(back->checkpoint, Eq(event.checkpoint));
}

TEST(JoinTest, AFreshProcessPresentsNothing) {
  const absl::StatusOr<JoinEvent> event =
      JoinFromRequest(v1::JoinSessionRequest());
  ASSERT_THAT(event, IsOk());
  EXPECT_THAT(event->checkpoint, Eq(std::nullopt));
  EXPECT_THAT(event->attempt, Eq(0));
}

TEST(JoinTest, AnOddTokenOrCheckpointIsRefused) {
  v1::JoinSessionRequest request;
  request.set_resume_token("two words");
  EXPECT_THAT(JoinFromRequest(request),
              IsErrorSaying(Reason::kInvalidField, "resume_token"));
  request.clear_resume_token();
  request.mutable_checkpoint();
  EXPECT_THAT(JoinFromRequest(request), IsError(Reason::kInvalidScaler));
}

}  // namespace
}  // namespace lossscaler::wire
