// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// create with the settings of a group, and get of what it created.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::_;
using ::testing::DoAll;
using ::testing::HasSubstr;
using ::testing::Return;
using ::testing::SaveArg;

class CtlGroupCreateTest : public CtlTest {
 protected:
  // What `create` makes of `flags`.
  GroupConfig Created(std::vector<const char*> flags) {
    GroupConfig config;
    EXPECT_CALL(*connection_, CreateGroup("a", LossScaler::None(), _, _))
        .WillOnce(DoAll(SaveArg<2>(&config), Return(Info("a"))));
    flags.insert(flags.begin(), {"create", "a", "--none"});
    EXPECT_EQ(Run(std::move(flags)), kDone) << err_.str();
    EXPECT_EQ(out_.str(), "created a (uid uid-1)\n");
    return config;
  }
};

TEST_F(CtlGroupCreateTest, AGroupNeedsAllItsWorkersUnlessItIsElastic) {
  EXPECT_EQ(Created({"--max-workers", "4"}),
            (GroupConfig{.min_workers = 4, .max_workers = 4}));
  EXPECT_EQ(Created({"--min-workers", "2", "--max-workers", "4"}),
            (GroupConfig{.min_workers = 2, .max_workers = 4}));
}

TEST_F(CtlGroupCreateTest, EverySettingHasAFlag) {
  EXPECT_EQ(
      Created({"--max-workers", "4", "--lease-ttl", "1m30s", "--step-timeout",
               "500ms", "--on-loss", "proceed", "--on-timeout", "wait",
               "--max-timeouts", "7", "--no-early-decision", "--parts", "each",
               "--degraded-skips", "9"}),
      (GroupConfig{.min_workers = 4,
                   .max_workers = 4,
                   .lease_ttl = absl::Seconds(90),
                   .step_timeout = absl::Milliseconds(500),
                   .on_loss = LossPolicy::kProceed,
                   .on_timeout = StragglerPolicy::kWait,
                   .max_timeouts = 7,
                   .early_decision = false,
                   .parts = PartPolicy::kEach,
                   .degraded_skips = 9}));
}

TEST_F(CtlGroupCreateTest, EveryPolicyHasAWord) {
  const std::pair<const char*, LossPolicy> on_loss[] = {
      {"skip", LossPolicy::kSkip},
      {"proceed", LossPolicy::kProceed},
      {"abort", LossPolicy::kAbort}};
  for (const auto& [word, policy] : on_loss) {
    EXPECT_EQ(Created({"--max-workers", "1", "--on-loss", word}).on_loss,
              policy);
  }
  const std::pair<const char*, StragglerPolicy> on_timeout[] = {
      {"skip", StragglerPolicy::kSkip},
      {"wait", StragglerPolicy::kWait},
      {"abort", StragglerPolicy::kAbort},
      {"proceed", StragglerPolicy::kProceed}};
  for (const auto& [word, policy] : on_timeout) {
    EXPECT_EQ(Created({"--max-workers", "1", "--on-timeout", word}).on_timeout,
              policy);
  }
  EXPECT_EQ(Created({"--max-workers", "1", "--parts", "all"}).parts,
            PartPolicy::kAll);
}

TEST_F(CtlGroupCreateTest, AnEqualGroupIsSuccessIfAskedFor) {
  EXPECT_CALL(*connection_, CreateGroup("a", _, _, IfExists::kReturnIfEqual))
      .WillOnce(Return(Info("a")));
  EXPECT_EQ(Run({"create", "a", "--none", "--max-workers", "2", "--exist-ok"}),
            kDone);
  EXPECT_EQ(out_.str(), "there is a (uid uid-1)\n");
}

TEST_F(CtlGroupCreateTest, ASettingOfAGroupMakesNoGroup) {
  const std::vector<std::vector<const char*>> settings = {
      {"--min-workers", "1"},   {"--lease-ttl", "30s"},
      {"--step-timeout", "1m"}, {"--on-loss", "skip"},
      {"--on-timeout", "skip"}, {"--max-timeouts", "3"},
      {"--no-early-decision"},  {"--parts", "all"},
      {"--degraded-skips", "5"}};
  for (std::vector<const char*> line : settings) {
    const std::string flag = line.front();
    line.insert(line.begin(), {"create", "a", "--none"});
    EXPECT_EQ(Run(line), kWrongUsage);
    EXPECT_EQ(err_.str(), "lossscalerctl: " + flag +
                              " needs --max-workers, which makes the session a "
                              "group; see `lossscalerctl create --help`\n");
  }
}

TEST_F(CtlGroupCreateTest, ValuesOfTheWrongTypeAreWrongUsage) {
  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{"--max-workers", "two"},
                                             {"--min-workers", "1.5"},
                                             {"--lease-ttl", "30"},
                                             {"--step-timeout", "soon"},
                                             {"--on-loss", "wait"},
                                             {"--on-timeout", "SKIP"},
                                             {"--parts", "some"}}) {
    std::vector<const char*> line = {"create", "a", "--none"};
    line.insert(line.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Run(line), kWrongUsage) << wrong[0];
    EXPECT_THAT(err_.str(), HasSubstr(wrong[0]));
    EXPECT_THAT(err_.str(), HasSubstr(wrong[1]));
  }
}

TEST_F(CtlGroupCreateTest, WhatTheServerSaysOfTheGroupIsShown) {
  EXPECT_CALL(*connection_, CreateGroup)
      .WillOnce(Return(MakeError(Reason::kInvalidGroup, "min above max")));
  EXPECT_EQ(Run({"create", "a", "--none", "--max-workers", "2", "--min-workers",
                 "3"}),
            kWrongUsage);
  EXPECT_EQ(err_.str(), "lossscalerctl: INVALID_GROUP: min above max\n");
}

TEST_F(CtlGroupCreateTest, GetShowsHowAGroupIsConfiguredAndStands) {
  SessionInfo info = Info("a");
  info.group = GroupConfig{.min_workers = 2,
                           .max_workers = 4,
                           .on_timeout = StragglerPolicy::kProceed};
  info.phase = GroupPhase::kPaused;
  info.attempt = 3;
  info.degraded =
      Degraded{.reason = "51 skips in a row", .workers = {"w0", "w1\x1b[2J"}};
  EXPECT_CALL(*connection_, GetSession).WillRepeatedly(Return(info));
  EXPECT_EQ(Run({"get", "a"}), kDone);
  EXPECT_THAT(
      out_.str(),
      HasSubstr("phase:          PAUSED: 0 of at least 2 workers are in\n"
                "attempt:        3\n"
                "group:          2 to 4 workers, lease 30s\n"
                "on loss:        skip\n"
                "on timeout:     proceed after 10m; abort from timeout 3 in a "
                "row on\n"
                "on overflow:    skip all parts, at once\n"
                "degraded from:  50 skips in a row on\n"
                "degraded:       51 skips in a row (overflow found by w0, w1 "
                "[2J)\n"));
  EXPECT_EQ(Run({"get", "a", "--json"}), kDone);
  const Json json = OneLine(out_);
  EXPECT_EQ(json["phase"], "PAUSED");
  EXPECT_EQ(json["attempt"], 3);
  EXPECT_EQ(json["degraded"]["reason"], "51 skips in a row");
  EXPECT_EQ(json["group"], Json::parse(R"({
    "min_workers": 2, "max_workers": 4, "lease_ttl_millis": 30000,
    "step_timeout_millis": 600000, "on_loss": "skip", "on_timeout": "proceed",
    "max_timeouts": 3, "no_early_decision": false, "parts": "all",
    "degraded_skips": 50})"));
}

TEST_F(CtlGroupCreateTest, GetSaysWhenAnOverflowIsNotDecidedAtOnce) {
  SessionInfo info = Info("a");
  info.group = GroupConfig{.on_timeout = StragglerPolicy::kWait,
                           .parts = PartPolicy::kEach};
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(info));
  EXPECT_EQ(Run({"get", "a"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("wait after 10m\n"));
  EXPECT_THAT(out_.str(), HasSubstr("skip that part, when all have voted\n"));
}

TEST_F(CtlGroupCreateTest, ASoloSessionHasNothingOfAGroup) {
  EXPECT_CALL(*connection_, GetSession).WillRepeatedly(Return(Info("a")));
  EXPECT_EQ(Run({"get", "a"}), kDone);
  EXPECT_EQ(out_.str().find("phase"), std::string::npos);
  EXPECT_EQ(Run({"get", "a", "--json"}), kDone);
  EXPECT_FALSE(OneLine(out_).contains("group"));
}

}  // namespace
}  // namespace lossscaler::ctl
