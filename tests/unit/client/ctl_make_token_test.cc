// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// make-token.

#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using CtlMakeTokenTest = CtlTest;

TEST_F(CtlMakeTokenTest, WritesTheTokenAndWhatTheServerKnowsItBy) {
  EXPECT_EQ(Run({"make-token", "--name", "vision", "--role", "worker",
                 "--sessions", "vision/"}),
            kDone);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n');
  EXPECT_THAT(lines,
              ElementsAre(MatchesRegex("token: [A-Za-z0-9_-]{43}"), "",
                          "[[token]]", "name = \"vision\"", "role = \"worker\"",
                          "sessions = \"vision/\"",
                          MatchesRegex("sha256 = \"[0-9a-f]{64}\""), ""));
}

TEST_F(CtlMakeTokenTest, WithoutAPrefixThereIsNoneInTheTable) {
  EXPECT_EQ(Run({"make-token", "--name", "ops", "--role", "admin"}), kDone);
  EXPECT_THAT(out_.str(), Not(HasSubstr("sessions")));
}

TEST_F(CtlMakeTokenTest, ProgramsGetTheSameAsJson) {
  EXPECT_EQ(Run({"make-token", "--name", "ops", "--role", "viewer", "--json"}),
            kDone);
  const Json made = OneLine(out_);
  EXPECT_EQ(made["name"], "ops");
  EXPECT_EQ(made["role"], "viewer");
  EXPECT_EQ(made["sessions"], "");
  EXPECT_EQ(made["token"].get<std::string>().size(), 43u);
  EXPECT_EQ(made["toml"].get<std::string>(),
            "[[token]]\nname = \"ops\"\nrole = \"viewer\"\nsha256 = \"" +
                made["sha256"].get<std::string>() + "\"\n");
}

TEST_F(CtlMakeTokenTest, EveryTokenIsAnother) {
  std::set<std::string> tokens;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Run({"make-token", "--name", "a", "--role", "viewer", "--json"}),
              kDone);
    tokens.insert(OneLine(out_)["token"].get<std::string>());
  }
  EXPECT_EQ(tokens.size(), 20u);
}

TEST_F(CtlMakeTokenTest, WhatAServerWouldRefuseIsWrongUsage) {
  EXPECT_EQ(Run({"make-token", "--name", "a/b", "--role", "admin"}),
            kWrongUsage);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("\"a/b\""), HasSubstr("1 to 63")));
  EXPECT_EQ(Run({"make-token", "--name", "a", "--role", "king"}), kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("viewer, worker, admin"));
  EXPECT_EQ(
      Run({"make-token", "--name", "a", "--role", "admin", "--sessions", "*"}),
      kWrongUsage);
  EXPECT_THAT(err_.str(), HasSubstr("\"*\""));
  EXPECT_EQ(Run({"make-token", "--role", "admin"}), kWrongUsage);
  EXPECT_EQ(Run({"make-token", "--name", "a"}), kWrongUsage);
  EXPECT_EQ(out_.str(), "");
}

// The first token is made where its file is named already.
TEST_F(CtlMakeTokenTest, VariablesOfTheConnectionDoNotMatter) {
  const ScopedVariable file("LOSSSCALER_TOKEN_FILE", "/nowhere/token");
  EXPECT_EQ(Run({"make-token", "--name", "a", "--role", "admin"}), kDone);
  EXPECT_EQ(Run({"list"}), kWrongUsage);
}

}  // namespace
}  // namespace lossscaler::ctl
