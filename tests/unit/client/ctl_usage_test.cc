// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Failures, wrong usage, and help.

#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/ctl_fixture.h"

namespace lossscaler::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Return;
using ::testing::StartsWith;

constexpr const char* kCommands[] = {
    "create", "list",      "get",     "delete", "restore",   "scale",
    "update", "unscale",   "workers", "join",   "leave",     "vote",
    "watch",  "decisions", "health",  "info",   "make-token"};

using CtlUsageTest = CtlTest;

// By canonical code, since servers may know reasons that we do not.
int ExpectedExitCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return 2;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return 3;
    default:
      return 1;
  }
}

TEST_F(CtlUsageTest, EveryReasonHasItsExitCode) {
  for (const Reason reason : AllReasons()) {
    EXPECT_CALL(*connection_, GetSession)
        .WillOnce(Return(MakeError(reason, "why")));
    EXPECT_EQ(Run({"get", "a"}), ExpectedExitCode(CodeOf(reason)))
        << ReasonName(reason);
    EXPECT_EQ(err_.str(),
              "lossscalerctl: " + std::string(ReasonName(reason)) + ": why\n");
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(CtlUsageTest, AnErrorIsOneLineOfJsonForPrograms) {
  EXPECT_CALL(*connection_, GetSession)
      .WillOnce(Return(MakeError(Reason::kSessionNotFound, "no\nsession",
                                 {{"session", "a"}})))
      .WillOnce(Return(absl::PermissionDeniedError("not you")));
  EXPECT_EQ(Run({"get", "a", "--json"}), kRefused);
  EXPECT_EQ(OneLine(err_), Json::parse(R"({"error": {
    "reason": "SESSION_NOT_FOUND", "code": "NOT_FOUND",
    "message": "no\nsession", "metadata": {"session": "a"}}})"));
  EXPECT_EQ(Run({"get", "a", "--json"}), kRefused);
  EXPECT_EQ(OneLine(err_), Json::parse(R"({"error": {
    "reason": "PERMISSION_DENIED", "code": "PERMISSION_DENIED",
    "message": "not you", "metadata": {}}})"));
}

TEST_F(CtlUsageTest, AnErrorIsOneLineForPeopleWhateverTheServerSends) {
  EXPECT_CALL(*connection_, GetSession)
      .WillOnce(Return(absl::InternalError("a\nb\x1b[31m")));
  EXPECT_EQ(Run({"get", "a"}), kRefused);
  EXPECT_EQ(err_.str(), "lossscalerctl: INTERNAL: a b [31m\n");
  EXPECT_CALL(*connection_, GetSession)
      .WillOnce(Return(MakeErrorFromParts(absl::StatusCode::kInternal, "why",
                                          "NEW\x1b[2J\n", {}, std::nullopt)));
  EXPECT_EQ(Run({"get", "a"}), kRefused);
  EXPECT_EQ(err_.str(), "lossscalerctl: NEW [2J : why\n");
}

TEST_F(CtlUsageTest, AResultCommandsNoTerminalWhateverTheServerSends) {
  ServerInfo server;
  server.version = "1\x1b[31m\n2";
  server.features = {"a\tb",
                     "c\xC2\x9B"
                     "1m",
                     "\xC2\xA9\x7F."};
  EXPECT_CALL(*connection_, GetServerInfo).WillOnce(Return(server));
  EXPECT_EQ(Run({"info"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr(" 1 [31m 2\n"));
  EXPECT_THAT(out_.str(), HasSubstr(" a b, c 1m, \xC2\xA9 .\n"));

  SessionInfo session = Info("a");
  session.last_decision = OverflowDecision();
  session.last_decision->explanation = "one\r\x1b]0;title\x07";
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(session));
  EXPECT_EQ(Run({"get", "a"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr(": one  ]0;title\n"));

  session.uid = "u\x1b[1m";
  EXPECT_CALL(*connection_, CreateSession).WillOnce(Return(session));
  EXPECT_EQ(Run({"create", "a", "--none"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("(uid u [1m)"));
}

TEST_F(CtlUsageTest, WrongUsageIsOneLineThatSaysWhereToReadMore) {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"unknown"},
      {"--unknown"},
      {"get"},
      {"get", ""},
      {"get", "a", "b"},
      {"get", "a", "--wait", "1"},
      {"get", "a", "--address"},
      {"get", "a", "--deadline", "1s", "--deadline", "2s"}};
  for (const auto& arguments : wrong) {
    EXPECT_EQ(Run(arguments), kWrongUsage);
    EXPECT_THAT(err_.str(), StartsWith("lossscalerctl: "));
    EXPECT_THAT(err_.str(), HasSubstr("--help`\n"));
    EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1) << err_.str();
    EXPECT_EQ(out_.str(), "");
  }
  EXPECT_EQ(Run({}), kWrongUsage);
  EXPECT_EQ(err_.str(),
            "lossscalerctl: no command is given; see `lossscalerctl --help`\n");
  EXPECT_EQ(Run({"lists"}), kWrongUsage);
  EXPECT_EQ(err_.str(),
            "lossscalerctl: there is no command or option \"lists\"; see "
            "`lossscalerctl --help`\n");
  EXPECT_EQ(Run({"get"}), kWrongUsage);
  EXPECT_EQ(err_.str(),
            "lossscalerctl: NAME is required; see `lossscalerctl get "
            "--help`\n");
}

TEST_F(CtlUsageTest, WrongUsageIsJsonForPrograms) {
  EXPECT_EQ(Run({"get", "--json", "--unknown"}), kWrongUsage);
  const Json error = OneLine(err_)["error"];
  EXPECT_EQ(error["reason"], "WRONG_USAGE");
  EXPECT_EQ(error["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(Run({"create", "a", "--none", "--json", "--hysteresis", "2"}),
            kWrongUsage);
  EXPECT_EQ(OneLine(err_)["error"]["message"],
            "--hysteresis needs --dynamic or --preset");
}

TEST_F(CtlUsageTest, WhatIsWrittenLikeJsonDecides) {
  const auto asked_for_json = [this](std::vector<const char*> arguments) {
    EXPECT_EQ(Run(arguments), kWrongUsage);
    return err_.str().starts_with("{");
  };
  EXPECT_TRUE(asked_for_json({"get", "--json=true"}));
  EXPECT_FALSE(asked_for_json({"get", "--json=false"}));
  EXPECT_FALSE(asked_for_json({"scale", "a", "--", "--json"}));
  EXPECT_FALSE(asked_for_json({"get"}));
  // Not reached, since --deadline has no value.
  EXPECT_TRUE(asked_for_json({"--json", "get", "a", "--deadline"}));
}

TEST_F(CtlUsageTest, HelpIsAManualPage) {
  EXPECT_EQ(Run({"--help"}), kDone);
  EXPECT_THAT(out_.str(), StartsWith("NAME\n       lossscalerctl - look"));
  for (const char* section :
       {"\nSYNOPSIS\n", "\nDESCRIPTION\n", "\nCOMMANDS\n", "\nOPTIONS\n",
        "\nENVIRONMENT\n", "\nEXIT STATUS\n", "\nEXAMPLES\n"}) {
    EXPECT_THAT(out_.str(), HasSubstr(section));
  }
  for (const char* command : kCommands) {
    EXPECT_THAT(out_.str(), HasSubstr(std::string("\n       ") + command +
                                      "\n           "));
  }
  for (const char* variable :
       {"ADDRESS", "DEADLINE", "TLS", "CA_FILE", "CERT_FILE", "KEY_FILE",
        "TOKEN_FILE", "TOKEN", "CALL_ID"}) {
    EXPECT_THAT(out_.str(), HasSubstr(std::string("\n       LOSSSCALER_") +
                                      variable + "\n           "));
  }
  for (const char* flag :
       {"--address ADDRESS", "--deadline DURATION", "--tls", "--ca FILE",
        "--cert FILE", "--key FILE", "--token-file FILE", "--call-id ID",
        "--json", "--version"}) {
    EXPECT_THAT(out_.str(), HasSubstr(std::string("\n       ") + flag + "\n"));
  }
}

TEST_F(CtlUsageTest, EveryCommandHasAPageWithAnExample) {
  for (const char* command : kCommands) {
    EXPECT_EQ(Run({command, "--help"}), kDone);
    const std::string full = std::string("lossscalerctl ") + command;
    EXPECT_THAT(out_.str(), StartsWith("NAME\n       " + full + " - "));
    for (const std::string& section :
         {"\nSYNOPSIS\n       " + full, std::string("\nDESCRIPTION\n       "),
          std::string("\nOPTIONS\n       "), std::string("\nEXIT STATUS\n")}) {
      EXPECT_THAT(out_.str(), HasSubstr(section));
    }
    const std::size_t examples = out_.str().find("\nEXAMPLES\n");
    ASSERT_NE(examples, std::string::npos);
    EXPECT_THAT(out_.str().substr(examples), HasSubstr(full));
    const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n');
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), 80u) << line;
    }
  }
}

TEST_F(CtlUsageTest, APageShowsWhatIsRequiredAndWhatIsNot) {
  EXPECT_EQ(Run({"update", "--help"}), kDone);
  EXPECT_THAT(
      out_.str(),
      HasSubstr("lossscalerctl update NAME (--finite | --overflow | --skip | "
                "--abstain)\n       [--step N] [--base N] [--scale-used SCALE] "
                "[--iteration N]\n"));
  EXPECT_EQ(Run({"vote", "--help"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("--abstain) --step N [--incarnation N]\n"));
  EXPECT_EQ(Run({"list", "--help"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("lossscalerctl list [PREFIX]\n"));
  EXPECT_EQ(Run({"create", "--help"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("(default 65536)"));
  EXPECT_THAT(out_.str(), HasSubstr("on_clean_step_or_backoff"));
}

TEST_F(CtlUsageTest, HelpDoesNotNeedTheRestToBeRight) {
  const ScopedVariable deadline("LOSSSCALER_DEADLINE", "soon");
  EXPECT_EQ(Run({"-h"}), kDone);
  EXPECT_EQ(Run({"create", "-h"}), kDone);
  EXPECT_EQ(Run({"--help", "create"}), kDone);
}

TEST_F(CtlUsageTest, SaysItsVersion) {
  EXPECT_EQ(Run({"--version"}), kDone);
  EXPECT_THAT(out_.str(), ::testing::MatchesRegex("lossscalerctl [0-9.]+\n"));
}

// Takes nothing, as a full disk does.
class FullBuffer : public std::streambuf {};

TEST_F(CtlUsageTest, AResultThatCannotBeWrittenIsAFailure) {
  EXPECT_CALL(*connection_, GetSession).WillOnce(Return(Info("a")));
  FullBuffer full;
  std::streambuf* const before = out_.std::ios::rdbuf(&full);
  const int code = Run({"get", "a"});
  out_.std::ios::rdbuf(before);
  EXPECT_EQ(code, kRefused);
  EXPECT_THAT(err_.str(), HasSubstr("could not be written"));
}

}  // namespace
}  // namespace lossscaler::ctl
