// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "metrics_fixture.h"

namespace lossscaler::server {
namespace {

using ::testing::Eq;
using ::testing::Optional;

using CallMetricsTest = MetricsTest;

TEST_F(CallMetricsTest, ACallIsCountedByMethodAndCode) {
  EndCall(Method::kUpdate, absl::OkStatus(), absl::Milliseconds(1));
  EndCall(Method::kUpdate, absl::OkStatus(), absl::Milliseconds(1));
  EndCall(Method::kUpdate, MakeError(Reason::kStepAhead, "x"),
          absl::Milliseconds(1));
  EXPECT_THAT(Value(R"(lossscaler_rpc_calls_total{code="OK",method="Update"})"),
              Optional(2));
  EXPECT_THAT(
      Value(
          R"(lossscaler_rpc_calls_total{code="FAILED_PRECONDITION",method="Update"})"),
      Optional(1));
  EXPECT_THAT(
      Value(R"(lossscaler_rpc_calls_total{code="OK",method="ScaleLoss"})"),
      Optional(0))
      << "a rate needs a zero to start from";
}

TEST_F(CallMetricsTest, AnErrorIsCountedByItsReason) {
  EndCall(Method::kGetSession, MakeError(Reason::kSessionNotFound, "x"),
          absl::ZeroDuration());
  EndCall(Method::kGetSession, absl::OkStatus(), absl::ZeroDuration());
  EXPECT_THAT(
      Value(
          R"(lossscaler_rpc_errors_total{method="GetSession",reason="SESSION_NOT_FOUND"})"),
      Optional(1));
  EXPECT_THAT(
      Value(
          R"(lossscaler_rpc_errors_total{method="GetSession",reason="OTHER"})"),
      Optional(0));
}

TEST_F(CallMetricsTest, WhatTheErrorTableDoesNotHaveIsOther) {
  EndCall(Method::kUpdate, absl::CancelledError("the client went away"),
          absl::ZeroDuration());
  EndCall(Method::kUpdate,
          MakeErrorFromParts(absl::StatusCode::kInternal, "x", "MADE_UP", {},
                             std::nullopt),
          absl::ZeroDuration());
  EXPECT_THAT(
      Value(R"(lossscaler_rpc_errors_total{method="Update",reason="OTHER"})"),
      Optional(2));
  EXPECT_THAT(
      Value(R"(lossscaler_rpc_errors_total{method="Update",reason="MADE_UP"})"),
      Eq(std::nullopt));
}

TEST_F(CallMetricsTest, ACodeBeyondTheKnownOnesIsUnknown) {
  EndCall(Method::kUpdate,
          absl::Status(static_cast<absl::StatusCode>(77), "odd"),
          absl::ZeroDuration());
  EXPECT_THAT(
      Value(R"(lossscaler_rpc_calls_total{code="UNKNOWN",method="Update"})"),
      Optional(1));
}

TEST_F(CallMetricsTest, DurationsFallIntoTheBucketsUpToThem) {
  EndCall(Method::kUnscale, absl::OkStatus(), absl::Microseconds(50));
  EndCall(Method::kUnscale, absl::OkStatus(), absl::Milliseconds(2));
  EndCall(Method::kUnscale, absl::OkStatus(), absl::Hours(5));
  EndCall(Method::kUnscale, absl::OkStatus(), absl::Hours(48));
  const auto text = Text();
  const auto bucket = [&text](const std::string& bound) {
    return text.Find("lossscaler_rpc_duration_seconds_bucket{le=\"" + bound +
                     "\",method=\"Unscale\"}");
  };
  EXPECT_THAT(bucket("5e-05"), Optional(1));
  EXPECT_THAT(bucket("0.001"), Optional(1));
  EXPECT_THAT(bucket("0.0025"), Optional(2));
  EXPECT_THAT(bucket("3600"), Optional(2));
  EXPECT_THAT(bucket("21600"), Optional(3));
  EXPECT_THAT(bucket("86400"), Optional(3));
  EXPECT_THAT(bucket("+Inf"), Optional(4));
  EXPECT_THAT(
      text.Find(R"(lossscaler_rpc_duration_seconds_sum{method="Unscale"})"),
      // 5 and 48 hours, 2 ms and 50 us.
      Optional(::testing::DoubleNear(190'800.00205, 1e-9)));
}

}  // namespace
}  // namespace lossscaler::server
