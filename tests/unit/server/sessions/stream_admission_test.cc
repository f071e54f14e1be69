// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/stream_admission.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::Optional;
using ::testing::Pair;

TEST(StreamAdmission, StreamsOverTheLimitAreAskedToWaitUntilOneLeaves) {
  StreamAdmission admission(
      Limits{.max_unscale_streams = 2, .retry_delay = absl::Seconds(2)});
  ASSERT_THAT(admission.Enter(), IsOk());
  ASSERT_THAT(admission.Enter(), IsOk());
  const absl::Status status = admission.Enter();
  EXPECT_THAT(status, IsError(Reason::kTooManyStreams));
  EXPECT_THAT(RetryDelayOf(status), Optional(absl::Seconds(2)));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("limit", "2")));
  EXPECT_THAT(admission.open_streams(), Eq(2));
  admission.Leave();
  EXPECT_THAT(admission.Enter(), IsOk());
}

TEST(StreamAdmission, RefusedBytesAreNotTaken) {
  StreamAdmission admission(
      Limits{.max_bytes_in_flight = 100, .retry_delay = absl::Seconds(2)});
  ASSERT_THAT(admission.TakeBytes(60), IsOk());
  const absl::Status status = admission.TakeBytes(41);
  EXPECT_THAT(status, IsError(Reason::kTooManyBytes));
  EXPECT_THAT(RetryDelayOf(status), Optional(absl::Seconds(2)));
  EXPECT_THAT(admission.bytes_in_flight(), Eq(60));
  EXPECT_THAT(admission.TakeBytes(40), IsOk());
  admission.ReturnBytes(100);
  EXPECT_THAT(admission.bytes_in_flight(), Eq(0));
}

TEST(StreamAdmission, BytesThatNeverFitAreNotWorthWaitingFor) {
  StreamAdmission admission(Limits{.max_bytes_in_flight = 100});
  const absl::Status status = admission.TakeBytes(101);
  EXPECT_THAT(status, IsErrorSaying(Reason::kTooManyBytes, "waiting does not"));
  EXPECT_THAT(RetryDelayOf(status), Eq(std::nullopt));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("bytes", "101")));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("limit", "100")));
  EXPECT_THAT(admission.TakeBytes(100), IsOk());
}

TEST(StreamAdmission, TensorsAreCounted) {
  const StreamAdmission admission(Limits{.max_tensors_per_stream = 3});
  EXPECT_THAT(admission.CheckTensorCount(3), IsOk());
  const absl::Status status = admission.CheckTensorCount(4);
  EXPECT_THAT(status, IsError(Reason::kTooManyTensors));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("tensors", "4")));
}

}  // namespace
}  // namespace lossscaler::server
