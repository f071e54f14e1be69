// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;

using CtlSessionTest = CtlTest;

TEST_F(CtlSessionTest, CreatesASession) {
  EXPECT_CALL(*connection_,
              CreateSession("a/b", LossScaler::None(), IfExists::kFail))
      .Times(2)
      .WillRepeatedly(Return(Info("a/b")));
  EXPECT_EQ(Run({"create", "a/b", "--none"}), kDone);
  EXPECT_EQ(out_.str(), "created a/b (uid uid-1)\n");
  EXPECT_EQ(Run({"create", "a/b", "--none", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json({{"name", "a/b"}, {"uid", "uid-1"}}));
}

TEST_F(CtlSessionTest, AnEqualSessionIsSuccessOnlyIfAskedFor) {
  EXPECT_CALL(*connection_, CreateSession("a", _, IfExists::kReturnIfEqual))
      .WillOnce(Return(Info("a")));
  EXPECT_CALL(*connection_, CreateSession("a", _, IfExists::kFail))
      .WillOnce(Return(MakeError(Reason::kSessionExists, "taken")));
  EXPECT_EQ(Run({"create", "a", "--none", "--exist-ok"}), kDone);
  EXPECT_EQ(out_.str(), "there is a (uid uid-1)\n");
  EXPECT_EQ(Run({"create", "a", "--none"}), kRefused);
}

TEST_F(CtlSessionTest, ListsSessionsInColumns) {
  EXPECT_CALL(*connection_, ListSessions("team", 0, ""))
      .WillOnce(Return(
          SessionPage{.sessions = {Info("team/a"), Info("team/long-name")}}));
  EXPECT_EQ(Run({"list", "team"}), kDone);
  EXPECT_EQ(out_.str(),
            "NAME            KIND    SCALE     STEP  APPLIED  SKIPPED  EPOCH\n"
            "team/a          Static  16777216  5     3        1        2\n"
            "team/long-name  Static  16777216  5     3        1        2\n");
}

TEST_F(CtlSessionTest, ListsEveryPage) {
  EXPECT_CALL(*connection_, ListSessions("", 0, ""))
      .WillOnce(Return(
          SessionPage{.sessions = {Info("a")}, .next_page_token = "more"}));
  EXPECT_CALL(*connection_, ListSessions("", 0, "more"))
      .WillOnce(Return(SessionPage{.sessions = {Info("b")}}));
  EXPECT_EQ(Run({"list", "--json"}), kDone);
  const Json json = OneLine(out_);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["name"], "a");
  EXPECT_EQ(json[1]["name"], "b");
}

TEST_F(CtlSessionTest, ShowsASession) {
  SessionInfo info = Info("a");
  info.last_decision = OverflowDecision();
  EXPECT_CALL(*connection_, GetSession).WillRepeatedly(Return(info));
  EXPECT_EQ(Run({"get", "a"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("scale:          16777216\n"));
  EXPECT_THAT(out_.str(), HasSubstr("created:        1970-01-01T00:00:00"));
  EXPECT_THAT(out_.str(), HasSubstr("step 5 SKIP_OVERFLOW"));
  EXPECT_EQ(Run({"get", "a", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json::parse(R"({
    "name": "a", "uid": "uid-1",
    "config": {"Static": {"scale": 16777216.0}},
    "scaler": {"Static": {"scale": 16777216.0}},
    "current": {"step": 5, "scale": 16777216.0, "base": 3, "epoch": 2},
    "attempted": 4, "applied": 3, "skipped": 1, "consecutive_skips": 0,
    "create_time": "1970-01-01T00:00:00+00:00",
    "last_decision": {
      "step": 5, "outcome": "SKIP_OVERFLOW", "reason": "OVERFLOW",
      "explanation": "a gradient was not finite",
      "scale_before": 2048.0, "scale_after": 1024.0,
      "base_before": 4, "base_after": 4, "epoch_after": 2,
      "attempted": 5, "applied": 4, "skipped": 1,
      "saturated": false, "floored": true, "stalled": false, "overflow": true,
      "decide_time": "1970-01-01T00:00:00+00:00"}})"));
}

TEST_F(CtlSessionTest, ASessionMayHaveTheNameOfACommand) {
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(Info("list")));
  EXPECT_EQ(Run({"get", "list"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("list"));
}

TEST_F(CtlSessionTest, DeletesASession) {
  EXPECT_CALL(*connection_,
              DeleteSession(::testing::Field(&SessionRef::name, "a")))
      .Times(2)
      .WillRepeatedly(Return(absl::OkStatus()));
  EXPECT_EQ(Run({"delete", "a"}), kDone);
  EXPECT_EQ(out_.str(), "deleted a\n");
  EXPECT_EQ(Run({"delete", "a", "--json"}), kDone);
  EXPECT_EQ(OneLine(out_), Json({{"deleted", "a"}}));
}

}  // namespace
}  // namespace lossscaler::ctl
