// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/status.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/rpc/error_details.pb.h"
#include "testing/status_matchers.h"

namespace lossscaler::wire {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsError;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr std::string_view kErrorInfo =
    "type.googleapis.com/google.rpc.ErrorInfo";
constexpr std::string_view kRetryInfo =
    "type.googleapis.com/google.rpc.RetryInfo";

absl::Status RoundTrip(const absl::Status& status) {
  return StatusFromWire(static_cast<int>(status.code()),
                        std::string(status.message()),
                        SerializeErrorDetails(status));
}

std::string Details(std::string_view type_url, std::string_view value) {
  rpc::Status status;
  status.set_code(9);
  google::protobuf::Any* any = status.add_details();
  any->set_type_url(std::string(type_url));
  any->set_value(std::string(value));
  return status.SerializeAsString();
}

// Tag = field number * 8 + wire type (0 varint, 2 length-delimited), with the
// numbers of google.rpc.Status{code 1, message 2, details 3},
// google.protobuf.Any{type_url 1, value 2} and google.rpc.ErrorInfo{reason 1,
// domain 2, metadata 3 (a map: entries of key 1, value 2)}.
TEST(SerializeErrorDetailsTest, IsAGoogleRpcStatusWithErrorInfo) {
  const absl::Status status =
      MakeError(Reason::kStepAhead, "no", {{"step", "6"}});
  const std::string error_info =
      "\x0a\x0aSTEP_AHEAD"
      "\x12\x0alossscaler"
      "\x1a\x09\x0a\x04step\x12\x01"
      "6";
  ASSERT_THAT(error_info.size(), Eq(35u));
  ASSERT_THAT(kErrorInfo.size(), Eq(40u));
  // FAILED_PRECONDITION is 9; 2 + 40 + 2 + 35 = 79.
  const std::string expected = std::string("\x08\x09\x12\x02no\x1a\x4f") +
                               "\x0a\x28" + std::string(kErrorInfo) +
                               "\x12\x23" + error_info;
  EXPECT_THAT(SerializeErrorDetails(status), Eq(expected));
}

// google.rpc.RetryInfo{retry_delay 1}, google.protobuf.Duration{seconds 1,
// nanos 2}; 500,000,000 = 0x1dcd6500 is the varint 80 ca b5 ee 01.
TEST(SerializeErrorDetailsTest, WaitingIsAGoogleRpcRetryInfo) {
  const absl::Status status =
      MakeRetryableError(Reason::kDraining, "", absl::Milliseconds(1500), {});
  const std::string details = SerializeErrorDetails(status);
  const std::string expected =
      "\x0a\x28" + std::string(kRetryInfo) +
      "\x12\x0a\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01";
  ASSERT_GE(details.size(), expected.size());
  EXPECT_THAT(details.substr(details.size() - expected.size()), Eq(expected));
}

TEST(SerializeErrorDetailsTest, OkHasNone) {
  EXPECT_THAT(SerializeErrorDetails(absl::OkStatus()), IsEmpty());
}

TEST(StatusRoundTripTest, EveryReasonComesBackWithItsCode) {
  for (const Reason reason : AllReasons()) {
    const absl::Status status = RoundTrip(MakeError(reason, "why"));
    EXPECT_THAT(status, IsError(reason));
    EXPECT_THAT(status.message(), Eq("why"));
    EXPECT_THAT(RetryDelayOf(status), Eq(std::nullopt));
  }
}

TEST(StatusRoundTripTest, MetadataAndDelayComeBack) {
  const absl::Status status = RoundTrip(MakeRetryableError(
      Reason::kTooManyBytes, "full", absl::Nanoseconds(1'000'000'001),
      {{"limit", "10"}, {"in_flight", "9"}, {"empty", ""}}));
  EXPECT_THAT(MetadataOf(status),
              Eq(std::map<std::string, std::string>{
                  {"limit", "10"}, {"in_flight", "9"}, {"empty", ""}}));
  EXPECT_THAT(RetryDelayOf(status),
              Optional(Eq(absl::Nanoseconds(1'000'000'001))));
}

TEST(StatusRoundTripTest, AStatusOfSomebodyElseKeepsCodeAndMessage) {
  const absl::Status status = RoundTrip(absl::NotFoundError("elsewhere"));
  EXPECT_THAT(status, Eq(absl::NotFoundError("elsewhere")));
}

TEST(StatusFromWireTest, CodeZeroIsOkWhateverComesWithIt) {
  EXPECT_THAT(StatusFromWire(0, "text", "garbage"), Eq(absl::OkStatus()));
}

TEST(StatusFromWireTest, CodesOutOfRangeAreUnknown) {
  for (const int code : {-1, 17, 1000}) {
    EXPECT_THAT(StatusFromWire(code, "m", ""),
                HasCode(absl::StatusCode::kUnknown));
  }
  EXPECT_THAT(StatusFromWire(16, "m", ""),
              HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(StatusFromWire(1, "m", ""),
              HasCode(absl::StatusCode::kCancelled));
}

TEST(StatusFromWireTest, DetailsThatCannotBeReadChangeNothing) {
  const std::string good =
      SerializeErrorDetails(MakeError(Reason::kResync, "m", {{"a", "b"}}));
  const absl::Status plain = absl::FailedPreconditionError("m");
  EXPECT_THAT(StatusFromWire(9, "m", "\xff\xff\xff garbage"), Eq(plain));
  EXPECT_THAT(StatusFromWire(9, "m", good.substr(0, good.size() - 1)),
              Eq(plain));
  EXPECT_THAT(StatusFromWire(9, "m", Details(kErrorInfo, "\x0a\x7fshort")),
              Eq(plain));
}

TEST(StatusFromWireTest, AnErrorInfoOfAnotherDomainIsNotOurs) {
  rpc::ErrorInfo info;
  info.set_reason("STEP_AHEAD");
  info.set_domain("googleapis.com");
  (*info.mutable_metadata())["step"] = "1";
  EXPECT_THAT(
      StatusFromWire(9, "m", Details(kErrorInfo, info.SerializeAsString())),
      Eq(absl::FailedPreconditionError("m")));
}

TEST(StatusFromWireTest, OursIsFoundBesideOtherDetails) {
  rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(
      SerializeErrorDetails(MakeError(Reason::kStepAhead, "m"))));
  rpc::ErrorInfo foreign;
  foreign.set_reason("OTHER");
  foreign.set_domain("elsewhere");
  for (int i = 0; i < 2; ++i) {
    google::protobuf::Any* any = details.add_details();
    any->set_type_url(i == 0 ? std::string(kErrorInfo)
                             : "type.googleapis.com/google.rpc.Help");
    any->set_value(foreign.SerializeAsString());
  }
  EXPECT_THAT(StatusFromWire(9, "m", details.SerializeAsString()),
              IsError(Reason::kStepAhead));
}

TEST(StatusFromWireTest, AReasonOfANewerServerIsKeptAsText) {
  rpc::ErrorInfo info;
  info.set_reason("FROM_THE_FUTURE");
  info.set_domain("lossscaler");
  const absl::Status status =
      StatusFromWire(9, "m", Details(kErrorInfo, info.SerializeAsString()));
  EXPECT_THAT(ReasonOf(status), Eq(std::nullopt));
  EXPECT_THAT(ReasonNameOf(status), Eq("FROM_THE_FUTURE"));
}

TEST(StatusFromWireTest, AnAbsurdDelayIsNeverNegative) {
  for (const std::int64_t seconds :
       {std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}}) {
    rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(seconds);
    const absl::Status status =
        StatusFromWire(14, "m", Details(kRetryInfo, retry.SerializeAsString()));
    ASSERT_TRUE(RetryDelayOf(status).has_value());
    EXPECT_GE(*RetryDelayOf(status), absl::ZeroDuration());
  }
}

TEST(StatusInBandTest, KeepsCodeMessageAndDetails) {
  const absl::Status sent = MakeRetryableError(
      Reason::kSessionPaused, "wait", absl::Seconds(2), {{"workers", "1"}});
  rpc::Status proto;
  ToProto(sent, &proto);
  EXPECT_EQ(proto.code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(StatusFromProto(proto), sent);
}

TEST(StatusInBandTest, OkIsAnEmptyMessage) {
  rpc::Status proto;
  proto.set_message("what was there before");
  ToProto(absl::OkStatus(), &proto);
  EXPECT_EQ(proto.ByteSizeLong(), 0u);
  EXPECT_TRUE(StatusFromProto(proto).ok());
}

TEST(StatusInBandTest, ACodeThatNobodyKnowsIsAnError) {
  rpc::Status proto;
  proto.set_code(99);
  EXPECT_EQ(StatusFromProto(proto).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace lossscaler::wire
