// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// health and info.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Return;

using CtlServerTest = CtlTest;

TEST_F(CtlServerTest, HealthIsAnExitCode) {
  EXPECT_EQ(Run({"health"}), kDone);
  EXPECT_EQ(out_.str(), "SERVING\n");
  EXPECT_EQ(health_wait_, absl::Seconds(10));
  serving_ = false;
  EXPECT_EQ(Run({"health", "--json"}), kRefused);
  EXPECT_EQ(OneLine(out_), Json({{"status", "NOT_SERVING"}}));
  serving_ = absl::UnavailableError("nobody");
  EXPECT_EQ(Run({"health"}), kOutOfReach);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), "lossscalerctl: UNAVAILABLE: nobody\n");
}

ServerInfo Server() {
  ServerInfo info = {.version = "1.2.3",
                     .features = {"one", "two"},
                     .store = "sqlite",
                     .durability = "full",
                     .start_count = 4,
                     .sessions = 5};
  info.limits.max_sessions = 11;
  info.limits.max_unscale_streams = 12;
  info.limits.max_bytes_in_flight = 13;
  info.limits.max_tensors_per_stream = 14;
  info.limits.max_chunk_bytes = 15;
  info.limits.max_losses_per_call = 16;
  info.limits.replayable_decisions = 17;
  info.limits.unscale_idle = absl::Milliseconds(18);
  info.limits.max_workers_per_session = 19;
  info.limits.max_watch_streams = 20;
  info.limits.max_open_calls = 21;
  info.limits.max_parts_per_vote = 22;
  return info;
}

TEST_F(CtlServerTest, ShowsTheServerInATable) {
  EXPECT_CALL(*connection_, GetServerInfo).WillOnce(Return(Server()));
  EXPECT_EQ(Run({"info"}), kDone);
  EXPECT_EQ(out_.str(),
            "version:                  1.2.3\n"
            "store:                    sqlite\n"
            "durability:               full\n"
            "starts:                   4\n"
            "sessions:                 5\n"
            "features:                 one, two\n"
            "max_sessions:             11\n"
            "max_unscale_streams:      12\n"
            "max_bytes_in_flight:      13\n"
            "max_tensors_per_stream:   14\n"
            "max_chunk_bytes:          15\n"
            "max_losses_per_call:      16\n"
            "replayable_decisions:     17\n"
            "unscale_idle_millis:      18\n"
            "max_workers_per_session:  19\n"
            "max_watch_streams:        20\n"
            "max_open_calls:           21\n"
            "max_parts_per_vote:       22\n");
}

TEST_F(CtlServerTest, ShowsTheServerInJson) {
  EXPECT_CALL(*connection_, GetServerInfo).WillOnce(Return(Server()));
  EXPECT_EQ(Run({"info", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json::parse(R"({
    "version": "1.2.3", "store": "sqlite", "durability": "full",
    "start_count": 4, "sessions": 5, "features": ["one", "two"],
    "limits": {"max_sessions": 11, "max_unscale_streams": 12,
               "max_bytes_in_flight": 13, "max_tensors_per_stream": 14,
               "max_chunk_bytes": 15, "max_losses_per_call": 16,
               "replayable_decisions": 17, "unscale_idle_millis": 18,
               "max_workers_per_session": 19, "max_watch_streams": 20,
               "max_open_calls": 21, "max_parts_per_vote": 22}})"));
}

TEST_F(CtlServerTest, AServerOutOfReachHasNoInfo) {
  EXPECT_CALL(*connection_, GetServerInfo)
      .WillOnce(Return(MakeError(Reason::kUnavailableBudgetSpent, "away")));
  EXPECT_EQ(Run({"info"}), kOutOfReach);
  EXPECT_THAT(err_.str(), HasSubstr("UNAVAILABLE_BUDGET_SPENT: away"));
}

}  // namespace
}  // namespace lossscaler::ctl
