// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/grpc_log.h"

#include "gmock/gmock.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "ops/log.h"

namespace lossscaler::server {
namespace {

TEST(GrpcLog, BecomesAnEventOfOurLog) {
  RouteGrpcLog();
  // Usually set when gRPC starts.
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  ConfigureLog(LogFormat::kJson, LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  gpr_log_message("core/transport.cc", 7, GPR_LOG_SEVERITY_ERROR, "a \"b\"");
  const std::string written = ::testing::internal::GetCapturedStderr();
  ConfigureLog(LogFormat::kText, LogLevel::kInfo);
  const auto parsed = nlohmann::json::parse(written);
  EXPECT_EQ(parsed["event"], "grpc");
  EXPECT_EQ(parsed["level"], "warning");
  EXPECT_EQ(parsed["message"], "a \"b\"");
  EXPECT_EQ(parsed["file"], "transport.cc");
  EXPECT_EQ(parsed["line"], 7);
}

}  // namespace
}  // namespace lossscaler::server
