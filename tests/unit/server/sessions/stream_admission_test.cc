// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/stream_admission.h"

#include <memory>
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
  auto first = admission.Reserve(60);
  ASSERT_THAT(first, IsOk());
  const absl::Status status = admission.Reserve(41).status();
  EXPECT_THAT(status, IsError(Reason::kTooManyBytes));
  EXPECT_THAT(RetryDelayOf(status), Optional(absl::Seconds(2)));
  EXPECT_THAT(admission.bytes_in_flight(), Eq(60));
  // Free again as soon as nobody has it.
  EXPECT_THAT(admission.Reserve(40), IsOk());
  EXPECT_THAT(admission.bytes_in_flight(), Eq(60));
  std::shared_ptr<const Reservation> shared = *first;
  first = absl::CancelledError("");
  EXPECT_THAT(admission.bytes_in_flight(), Eq(60));
  shared.reset();
  EXPECT_THAT(admission.bytes_in_flight(), Eq(0));
}

TEST(StreamAdmission, BytesThatNeverFitAreNotWorthWaitingFor) {
  StreamAdmission admission(Limits{.max_bytes_in_flight = 100});
  const absl::Status status = admission.Reserve(101).status();
  EXPECT_THAT(status, IsErrorSaying(Reason::kTooManyBytes, "waiting does not"));
  EXPECT_THAT(RetryDelayOf(status), Eq(std::nullopt));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("bytes", "101")));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("limit", "100")));
  EXPECT_THAT(admission.Reserve(100), IsOk());
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
