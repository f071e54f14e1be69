// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ctl/command_line.h"
#include "ctl/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;
using ::testing::StrictMock;

class CtlTest : public ::testing::Test {
 protected:
  int Run(std::vector<const char*> arguments) {
    out_.str("");
    err_.str("");
    arguments.insert(arguments.begin(), "lossscalerctl");
    return RunCommandLine(
        static_cast<int>(arguments.size()), arguments.data(),
        {.out = out_,
         .err = err_,
         .connect =
             [this](const ClientOptions& options) {
               options_ = options;
               return connection_;
             },
         .is_serving = [this](const std::string&,
                              absl::Duration) { return serving_; }});
  }

  static SessionInfo Info(const std::string& name) {
    SessionInfo info;
    info.name = name;
    info.uid = "uid-1";
    info.config = info.scaler = *LossScaler::Static(16777216);
    info.current = {.step = 5, .scale = 16777216, .base = 3, .epoch = 2};
    info.applied = 3;
    info.skipped = 1;
    info.attempted = 4;
    return info;
  }

  std::ostringstream out_;
  std::ostringstream err_;
  ClientOptions options_;
  absl::StatusOr<bool> serving_ = true;
  std::shared_ptr<StrictMock<MockConnection>> connection_ =
      std::make_shared<StrictMock<MockConnection>>();
};

TEST_F(CtlTest, CreatesEveryKindOfScaler) {
  DynamicOptions dynamic;
  dynamic.initial_scale = 1024;
  dynamic.growth_factor = 4;
  dynamic.backoff_factor = 0.25;
  dynamic.growth_interval = 10;
  for (const LossScaler& scaler :
       {LossScaler::None(), *LossScaler::Static(8),
        *LossScaler::Dynamic(65536, 2, 2000), *LossScaler::Dynamic(dynamic)}) {
    EXPECT_CALL(*connection_, CreateSession("a/b", scaler, IfExists::kFail))
        .WillOnce(Return(Info("a/b")));
  }
  EXPECT_EQ(Run({"create", "a/b", "--none"}), kDone);
  EXPECT_EQ(Run({"create", "a/b", "--static", "8"}), kDone);
  EXPECT_EQ(Run({"create", "a/b", "--dynamic"}), kDone);
  EXPECT_EQ(Run({"create", "a/b", "--dynamic", "--init-scale", "1024",
                 "--growth-factor", "4", "--backoff-factor", "0.25",
                 "--growth-interval", "10"}),
            kDone);
  EXPECT_EQ(out_.str(), "created a/b (uid uid-1)\n");
}

TEST_F(CtlTest, RefusesWrongUsage) {
  EXPECT_EQ(Run({}), kWrongUsage);
  EXPECT_EQ(Run({"create", "a"}), kWrongUsage);
  EXPECT_EQ(Run({"create", "a", "--none", "--dynamic"}), kWrongUsage);
  EXPECT_EQ(Run({"create", "a", "--static", "8", "--init-scale", "4"}),
            kWrongUsage);
  EXPECT_EQ(Run({"create", "a", "--dynamic", "--growth-factor", "0.5"}),
            kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("growth_factor"));
  EXPECT_EQ(Run({"get"}), kWrongUsage);
  EXPECT_EQ(Run({"get", "a", "--wait", "-1"}), kWrongUsage);
  EXPECT_EQ(Run({"unknown"}), kWrongUsage);
}

TEST_F(CtlTest, HelpIsNoError) {
  EXPECT_EQ(Run({"--help"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes"));
}

TEST_F(CtlTest, ExitCodeSaysWhoWasAtFault) {
  EXPECT_CALL(*connection_, GetSession)
      .WillOnce(Return(MakeError(Reason::kSessionNotFound, "no session a")))
      .WillOnce(Return(MakeError(Reason::kInvalidSessionName, "bad name")))
      .WillOnce(Return(MakeError(Reason::kUnavailableBudgetSpent, "away")));
  EXPECT_EQ(Run({"get", "a"}), kRefused);
  EXPECT_EQ(err_.str(), "lossscalerctl: SESSION_NOT_FOUND: no session a\n");
  EXPECT_EQ(Run({"get", "a"}), kWrongUsage);
  EXPECT_EQ(Run({"get", "a"}), kOutOfReach);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CtlTest, TakesAddressAndWaitBeforeAndAfterTheCommand) {
  EXPECT_CALL(*connection_, DeleteSession(_))
      .Times(2)
      .WillRepeatedly(Return(absl::OkStatus()));
  EXPECT_EQ(Run({"--address", "unix:/s", "--wait", "2", "delete", "a"}), kDone);
  EXPECT_EQ(options_.address, "unix:/s");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(2));
  EXPECT_EQ(Run({"delete", "a", "--address", "h:1"}), kDone);
  EXPECT_EQ(options_.address, "h:1");
  EXPECT_EQ(options_.unavailable_budget, absl::Seconds(5));
  EXPECT_EQ(out_.str(), "deleted a\n");
}

TEST_F(CtlTest, ListsSessionsInColumns) {
  EXPECT_CALL(*connection_, ListSessions("team", 0, ""))
      .WillOnce(Return(
          SessionPage{.sessions = {Info("team/a"), Info("team/long-name")}}));
  EXPECT_EQ(Run({"list", "team"}), kDone);
  EXPECT_EQ(out_.str(),
            "NAME            KIND    SCALE     STEP  APPLIED  SKIPPED  EPOCH\n"
            "team/a          Static  16777216  5     3        1        2\n"
            "team/long-name  Static  16777216  5     3        1        2\n");
}

TEST_F(CtlTest, ShowsASession) {
  SessionInfo info = Info("a");
  info.last_decision.emplace();
  info.last_decision->step = 4;
  info.last_decision->explanation = "all finite";
  EXPECT_CALL(*connection_, GetSession).WillRepeatedly(Return(info));
  EXPECT_EQ(Run({"get", "a"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("scale:          16777216\n"));
  EXPECT_THAT(out_.str(), HasSubstr("created:        1970-01-01T00:00:00"));
  EXPECT_THAT(out_.str(), HasSubstr("step 4 APPLY"));
  EXPECT_EQ(Run({"get", "a", "--json"}), kDone);
  EXPECT_EQ(
      out_.str(),
      R"({"name":"a","uid":"uid-1","config":{"Static":{"scale":16777216.0}},)"
      R"("scaler":{"Static":{"scale":16777216.0}},)"
      R"("current":{"step":5,"scale":16777216.0,"base":3,"epoch":2},)"
      R"("attempted":4,"applied":3,"skipped":1,"consecutive_skips":0,)"
      R"("create_time":"1970-01-01T00:00:00+00:00",)"
      R"("last_decision":{"step":4,"outcome":"APPLY","reason":"FINITE",)"
      R"("explanation":"all finite","scale_before":1.0,"scale_after":1.0,)"
      R"("saturated":false,"floored":false,"stalled":false,)"
      R"("decide_time":"1970-01-01T00:00:00+00:00"}})"
      "\n");
}

TEST_F(CtlTest, HealthIsAnExitCode) {
  EXPECT_EQ(Run({"health"}), kDone);
  EXPECT_EQ(out_.str(), "SERVING\n");
  serving_ = false;
  EXPECT_EQ(Run({"health", "--json"}), kRefused);
  EXPECT_EQ(out_.str(), "{\"status\":\"NOT_SERVING\"}\n");
  serving_ = absl::UnavailableError("nobody");
  EXPECT_EQ(Run({"health"}), kOutOfReach);
}

}  // namespace
}  // namespace lossscaler::ctl
