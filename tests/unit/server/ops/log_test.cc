// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/log.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lossscaler::server {
namespace {

const absl::Time kTime = absl::FromUnixMillis(1'700'000'000'061);
// date -u -d @1700000000
constexpr char kTimeText[] = "2023-11-14T22:13:20.061Z";

std::string Json(LogFields fields) {
  return FormatLogLine(LogFormat::kJson, kTime, LogLevel::kInfo, "event",
                       fields);
}

TEST(LogLine, JsonHasTimeLevelEventAndTypedFields) {
  EXPECT_EQ(
      FormatLogLine(
          LogFormat::kJson, kTime, LogLevel::kWarning, "served",
          {{"session", "a/b"}, {"calls", 3}, {"ok", true}, {"seconds", 0.5}}),
      std::string("{\"time\":\"") + kTimeText +
          "\",\"level\":\"warning\",\"event\":\"served\",\"session\":\"a/"
          "b\",\"calls\":3,\"ok\":true,\"seconds\":0.5}");
}

TEST(LogLine, TextIsForPeople) {
  EXPECT_EQ(
      FormatLogLine(LogFormat::kText, kTime, LogLevel::kInfo, "served",
                    {{"session", "a/b"}, {"calls", 3}, {"ok", true}}),
      std::string(kTimeText) + " info served session=a/b calls=3 ok=true");
}

TEST(LogLine, JsonStaysOneValidLineWhateverTheText) {
  const std::string odd[] = {"line\nbreak",
                             "quote\" and \\",
                             std::string("nul\0byte", 8),
                             "\xff\xfe not UTF-8",
                             "half \xe2\x82",
                             "\x1b[31mred",
                             "euro \xe2\x82\xac sign",
                             "\xc0\xaf overlong",
                             "\xed\xa0\x80 surrogate"};
  for (const std::string& text : odd) {
    const std::string line = Json({{"text", text}});
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << line;
    EXPECT_TRUE(parsed["text"].is_string());
  }
  EXPECT_EQ(nlohmann::json::parse(Json({{"text", odd[0]}}))["text"], odd[0]);
  EXPECT_EQ(nlohmann::json::parse(Json({{"text", odd[6]}}))["text"], odd[6]);
}

TEST(LogLine, JsonHasNoNumberForNan) {
  EXPECT_TRUE(nlohmann::json::parse(Json({{"value", std::nan("")}}))["value"]
                  .is_null());
}

TEST(LogLine, TextValuesCannotForgeAnEventOrAField) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, kTime, LogLevel::kInfo, "e",
                          {{"a", "x\ny"}, {"b", "x c=1"}, {"d", ""}}),
            std::string(kTimeText) + " info e a=\"x\\ny\" b=\"x c=1\" d=\"\"");
}

TEST(LogLine, ListsOfNamesAreArraysOrJoinedByCommas) {
  const std::vector<std::string> names = {"a", "b \"c\""};
  const std::vector<std::string> none;
  EXPECT_EQ(nlohmann::json::parse(Json({{"names", names}, {"none", none}})),
            nlohmann::json::parse(
                std::string("{\"time\":\"") + kTimeText +
                "\",\"level\":\"info\",\"event\":\"event\",\"names\":"
                "[\"a\",\"b \\\"c\\\"\"],\"none\":[]}"));
  const std::vector<std::string> plain = {"a", "b"};
  EXPECT_EQ(
      FormatLogLine(LogFormat::kText, kTime, LogLevel::kInfo, "e",
                    {{"x", plain}, {"y", names}, {"z", none}}),
      std::string(kTimeText) + " info e x=a,b y=\"a,b \\\"c\\\"\" z=\"\"");
}

TEST(Log, IsEnabledFromTheLevelUp) {
  ConfigureLog(LogFormat::kText, LogLevel::kWarning);
  EXPECT_FALSE(LogEnabled(LogLevel::kDebug));
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarning));
  EXPECT_TRUE(LogEnabled(LogLevel::kError));
  ConfigureLog(LogFormat::kText, LogLevel::kInfo);
}

TEST(Log, WritesLinesAtOrAboveTheLevelToStderr) {
  ConfigureLog(LogFormat::kJson, LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "dropped");
  // A format string in the text must stay text.
  Log(LogLevel::kError, "kept", {{"text", "{} %s"}});
  const std::string written = ::testing::internal::GetCapturedStderr();
  ConfigureLog(LogFormat::kText, LogLevel::kInfo);
  ASSERT_TRUE(written.ends_with("\n"));
  const auto parsed = nlohmann::json::parse(written);
  EXPECT_EQ(parsed["event"], "kept");
  EXPECT_EQ(parsed["level"], "error");
  EXPECT_EQ(parsed["text"], "{} %s");
}

}  // namespace
}  // namespace lossscaler::server
