// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/decision_convert.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/every_field.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler::wire {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::lossscaler::testing::UnsetFields;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Pair;

// ---- Enumerators --------------------------------------------------------

// The names of core, in order, are those of the proto without its prefix from
// `first` on; core's names end in "UNKNOWN".
template <typename Enum, typename NameOf>
void CheckNames(const google::protobuf::EnumDescriptor* descriptor,
                std::string_view prefix, int first, NameOf name_of) {
  int count = 0;
  while (name_of(static_cast<Enum>(count)) != "UNKNOWN") {
    const google::protobuf::EnumValueDescriptor* value =
        descriptor->FindValueByNumber(count + first);
    ASSERT_NE(value, nullptr) << "core has more than the proto";
    EXPECT_THAT(
        std::string(prefix) + std::string(name_of(static_cast<Enum>(count))),
        Eq(value->name()));
    ++count;
  }
  EXPECT_THAT(descriptor->value_count(), Eq(count + first));
}

TEST(EnumTest, VerdictsOutcomesAndReasonsMirrorTheProto) {
  CheckNames<Verdict>(v1::Verdict_descriptor(), "VERDICT_", 0, VerdictName);
  CheckNames<Outcome>(v1::Outcome_descriptor(), "OUTCOME_", 1, OutcomeName);
  CheckNames<DecisionReason>(v1::DecisionReason_descriptor(),
                             "DECISION_REASON_", 1, DecisionReasonName);
}

// ---- Decisions ----------------------------------------------------------

Decision FullDecision() {
  Vote vote;
  vote.worker = "rank-3";
  vote.incarnation = 7;
  vote.verdict = Verdict::kOverflow;
  vote.stream_ids = {"a", "b"};
  vote.scale_used = 65536.0;
  vote.base = 0;
  vote.base_session_uid = "uid";
  vote.iteration = -3;
  vote.sum_of_squares = 0.0;
  vote.request_id = "vote-1";
  vote.parts = {
      {.name = "critic", .verdict = Verdict::kOverflow, .sum_of_squares = 0.0},
      {.name = "generator", .verdict = Verdict::kFinite, .sum_of_squares = {}}};
  vote.resolved = Verdict::kOverflow;
  Decision decision;
  decision.step = 12;
  decision.outcome = Outcome::kAborted;
  decision.reason = DecisionReason::kRestored;
  decision.explanation = "why";
  decision.scale_before = 65536.0;
  decision.scale_after = 32768.0;
  decision.base_before = 7;
  decision.base_after = 12;
  decision.base_before_session_uid = "before";
  decision.base_after_session_uid = "after";
  decision.epoch_after = 3;
  decision.attempted = 11;
  decision.applied = 9;
  decision.skipped = 2;
  decision.votes = {vote, testing::VoteOf(Verdict::kFinite)};
  decision.saturated = true;
  decision.floored = true;
  decision.stalled = true;
  decision.overflow = true;
  decision.parts = {{.name = "generator", .apply = true, .sum_of_squares = 0.0},
                    {.name = "critic", .apply = false, .sum_of_squares = {}}};
  decision.lost = {"rank-1", "rank-2"};
  decision.evicted = {"rank-4"};
  decision.next_iteration = 0;
  decision.sum_of_squares = 0.0;
  decision.request_id = "restore-1";
  decision.decide_time =
      absl::FromUnixSeconds(1'800'000'000) + absl::Nanoseconds(123'456'789);
  return decision;
}

TEST(DecisionTest, EveryFieldRoundTrips) {
  const Decision decision = FullDecision();
  v1::Decision proto;
  ToProto(decision, &proto);
  EXPECT_THAT(UnsetFields(proto), IsEmpty());
  EXPECT_THAT(UnsetFields(proto.votes(0)), IsEmpty());
  EXPECT_THAT(UnsetFields(proto.votes(0).parts(0)), IsEmpty());
  EXPECT_THAT(UnsetFields(proto.parts(0)), IsEmpty());
  EXPECT_THAT(DecisionFromProto(proto), IsOkAndHolds(Eq(decision)));
}

TEST(DecisionTest, WhatAVoteDidNotSayStaysUnsaid) {
  Decision decision = FullDecision();
  decision.votes = {testing::VoteOf(Verdict::kAbstain)};
  decision.next_iteration.reset();
  decision.sum_of_squares.reset();
  v1::Decision proto;
  ToProto(decision, &proto);
  EXPECT_FALSE(proto.has_next_iteration());
  EXPECT_FALSE(proto.has_sum_of_squares());
  EXPECT_FALSE(proto.parts(1).has_sum_of_squares());
  EXPECT_FALSE(proto.votes(0).has_scale_used());
  EXPECT_FALSE(proto.votes(0).has_base());
  EXPECT_FALSE(proto.votes(0).has_iteration());
  EXPECT_FALSE(proto.votes(0).has_sum_of_squares());
  EXPECT_THAT(DecisionFromProto(proto), IsOkAndHolds(Eq(decision)));
}

TEST(DecisionTest, EveryOutcomeAndReasonRoundTrips) {
  for (int i = 0; i < v1::Outcome_descriptor()->value_count() - 1; ++i) {
    Decision decision = FullDecision();
    decision.outcome = static_cast<Outcome>(i);
    v1::Decision proto;
    ToProto(decision, &proto);
    EXPECT_THAT(DecisionFromProto(proto), IsOkAndHolds(Eq(decision)));
  }
  for (int i = 0; i < v1::DecisionReason_descriptor()->value_count() - 1; ++i) {
    Decision decision = FullDecision();
    decision.reason = static_cast<DecisionReason>(i);
    v1::Decision proto;
    ToProto(decision, &proto);
    EXPECT_THAT(DecisionFromProto(proto), IsOkAndHolds(Eq(decision)));
  }
}

TEST(DecisionTest, ADecisionThatSaysTooLittleIsRefused) {
  v1::Decision good;
  ToProto(FullDecision(), &good);
  v1::Decision proto = good;
  proto.clear_outcome();
  EXPECT_THAT(DecisionFromProto(proto), IsError(Reason::kInvalidField));
  proto = good;
  proto.clear_reason();
  EXPECT_THAT(DecisionFromProto(proto), IsError(Reason::kInvalidField));
  proto = good;
  proto.set_step(0);
  EXPECT_THAT(DecisionFromProto(proto), IsError(Reason::kInvalidField));
}

// An outcome of a newer server must never be taken for an APPLY.
TEST(DecisionTest, AnUnknownEnumeratorIsRefused) {
  v1::Decision good;
  ToProto(FullDecision(), &good);
  v1::Decision proto = good;
  proto.set_outcome(static_cast<v1::Outcome>(99));
  EXPECT_THAT(DecisionFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "outcome"));
  proto = good;
  proto.set_reason(static_cast<v1::DecisionReason>(99));
  EXPECT_THAT(DecisionFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "reason"));
  proto = good;
  proto.mutable_votes(0)->set_verdict(static_cast<v1::Verdict>(-1));
  EXPECT_THAT(DecisionFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "verdict"));
  proto = good;
  proto.mutable_votes(0)->set_resolved(static_cast<v1::Verdict>(5));
  EXPECT_THAT(DecisionFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "resolved"));
  proto = good;
  proto.mutable_votes(0)->mutable_parts(1)->set_verdict(
      static_cast<v1::Verdict>(5));
  EXPECT_THAT(DecisionFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "parts.verdict"));
}

// ---- Votes --------------------------------------------------------------

Vote FullVote() {
  Vote vote;
  vote.verdict = Verdict::kSkip;
  vote.stream_ids = {"s"};
  vote.scale_used = 2.0;
  vote.base_session_uid = "uid";
  vote.base = 5;
  vote.iteration = 6;
  vote.sum_of_squares = 7.0;
  vote.request_id = "r";
  vote.parts = {
      {.name = "critic", .verdict = Verdict::kOverflow, .sum_of_squares = 8.0}};
  return vote;
}

TEST(VoteTest, EveryFieldRoundTripsThroughARequest) {
  v1::UpdateRequest request;
  VoteToRequest(FullVote(), &request);
  EXPECT_THAT(request.base().session_uid(), Eq("uid"));
  EXPECT_THAT(VoteFromRequest(request), IsOkAndHolds(Eq(FullVote())));
}

TEST(VoteTest, WhoVotesIsInTheRequestButNotInTheVote) {
  Vote vote = FullVote();
  vote.worker = "rank-3";
  vote.incarnation = 7;
  v1::UpdateRequest request;
  VoteToRequest(vote, &request);
  EXPECT_THAT(request.worker(), Eq("rank-3"));
  EXPECT_THAT(request.incarnation(), Eq(7));
  EXPECT_THAT(VoteFromRequest(request), IsOkAndHolds(Eq(FullVote())));
}

TEST(VoteTest, AVoteOnAStreamIsTakenAsOneInARequest) {
  v1::Vote proto;
  ToProto(FullVote(), &proto);
  EXPECT_THAT(SentVoteFromProto(proto), IsOkAndHolds(Eq(FullVote())));
}

// A worker cannot say who it is, or what its vote comes to, in the vote.
TEST(VoteTest, WhatTheServerFillsInIsNotTakenFromAStream) {
  v1::Vote proto;
  ToProto(FullVote(), &proto);
  proto.set_worker("somebody-else");
  proto.set_incarnation(9);
  proto.set_resolved(v1::VERDICT_FINITE);
  EXPECT_THAT(SentVoteFromProto(proto), IsOkAndHolds(Eq(FullVote())));
}

TEST(VoteTest, AVoteOnAStreamIsCheckedAsOneInARequest) {
  v1::Vote proto;
  proto.set_base_session_uid(std::string(65, 'x'));
  EXPECT_THAT(SentVoteFromProto(proto),
              IsErrorSaying(Reason::kInvalidField, "base.session_uid"));
  proto.Clear();
  proto.set_verdict(static_cast<v1::Verdict>(5));
  EXPECT_THAT(SentVoteFromProto(proto), IsError(Reason::kInvalidField));
}

TEST(VoteTest, AnEmptyVoteSetsNothing) {
  v1::UpdateRequest request;
  VoteToRequest(Vote(), &request);
  EXPECT_THAT(request.ByteSizeLong(), Eq(0u));
  EXPECT_THAT(VoteFromRequest(request), IsOkAndHolds(Eq(Vote())));
}

TEST(VoteTest, BaseZeroIsNotAnUnsetBase) {
  Vote vote;
  vote.base = 0;
  v1::UpdateRequest request;
  VoteToRequest(vote, &request);
  ASSERT_THAT(VoteFromRequest(request), IsOk());
  EXPECT_THAT(VoteFromRequest(request)->base,
              Eq(std::optional<std::int64_t>(0)));
}

TEST(VoteTest, EveryVerdictArrives) {
  for (int i = 0; i < v1::Verdict_descriptor()->value_count(); ++i) {
    v1::UpdateRequest request;
    request.set_verdict(static_cast<v1::Verdict>(i));
    ASSERT_THAT(VoteFromRequest(request), IsOk());
    EXPECT_THAT("VERDICT_" +
                    std::string(VerdictName(VoteFromRequest(request)->verdict)),
                Eq(v1::Verdict_Name(i)));
  }
}

TEST(VoteTest, AnUnknownVerdictIsRefused) {
  v1::UpdateRequest request;
  request.set_verdict(static_cast<v1::Verdict>(5));
  EXPECT_THAT(VoteFromRequest(request),
              IsErrorSaying(Reason::kInvalidField, "unknown value 5"));
}

TEST(VoteTest, IdsThatNothingCanHaveAreRefused) {
  for (const std::string& id :
       {std::string(), std::string(65, 'x'), std::string("a b")}) {
    v1::UpdateRequest request;
    request.add_stream_ids("fine");
    request.add_stream_ids(id);
    EXPECT_THAT(VoteFromRequest(request),
                IsErrorSaying(Reason::kInvalidField, "stream_ids"));
  }
  v1::UpdateRequest request;
  request.mutable_base()->set_session_uid(std::string(64, 'x'));
  EXPECT_THAT(VoteFromRequest(request), IsOk());
  request.mutable_base()->set_session_uid(std::string(65, 'x'));
  EXPECT_THAT(VoteFromRequest(request),
              IsErrorSaying(Reason::kInvalidField, "base.session_uid"));
}

TEST(VoteTest, AScaleThatIsNotFiniteIsRefused) {
  for (const double scale : {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    v1::UpdateRequest request;
    request.set_scale_used(scale);
    const absl::StatusOr<Vote> vote = VoteFromRequest(request);
    EXPECT_THAT(vote, IsError(Reason::kInvalidField));
    EXPECT_THAT(MetadataOf(vote.status()),
                Contains(Pair("field", "scale_used")));
  }
}

TEST(VoteTest, ASumOfSquaresThatIsNoneIsRefused) {
  for (const double sum : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -1.0}) {
    v1::UpdateRequest request;
    request.set_sum_of_squares(sum);
    EXPECT_THAT(VoteFromRequest(request),
                IsErrorSaying(Reason::kInvalidField, "sum_of_squares"));
    request.Clear();
    request.add_parts()->set_sum_of_squares(sum);
    EXPECT_THAT(VoteFromRequest(request),
                IsErrorSaying(Reason::kInvalidField, "parts.sum_of_squares"));
  }
}

TEST(VoteTest, AnUnknownVerdictOfAPartIsRefused) {
  v1::UpdateRequest request;
  request.add_parts()->set_verdict(static_cast<v1::Verdict>(5));
  EXPECT_THAT(VoteFromRequest(request),
              IsErrorSaying(Reason::kInvalidField, "parts.verdict"));
}

}  // namespace
}  // namespace lossscaler::wire
