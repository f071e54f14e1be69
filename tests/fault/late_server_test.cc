// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A client that is there before its server.

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "testing/server_process.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::ServerProcess;
using ::lossscaler::testing::TempDirectory;

TEST(LateServer, IsFoundByTheClientsOwnAttempts) {
  // Without gRPC's look around at silent channels, every five seconds.
  setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "3600000", 1);
  const TempDirectory directory;
  ClientOptions options;
  options.address = "unix:" + directory.path() + "/socket";
  options.unavailable_budget = absl::Minutes(1);
  options.wait_report_interval = absl::ZeroDuration();
  std::optional<ServerProcess> server;
  options.on_wait = [&](const WaitReport&) {
    if (server) return;
    server.emplace(LOSSSCALER_BINARY_DIR "/server/lossscalerd",
                   directory.path(),
                   std::vector<std::string>{"--listen", options.address,
                                            "--store", "memory"});
  };
  EXPECT_THAT(Client(options).GetServerInfo(), IsOk());
  EXPECT_TRUE(server.has_value());
}

}  // namespace
}  // namespace lossscaler
