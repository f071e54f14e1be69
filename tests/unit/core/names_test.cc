// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/names.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using testing::IsErrorSaying;
using testing::IsOk;

TEST(SessionNameTest, AcceptsSegmentsJoinedBySlashes) {
  for (const char* name : {"a", "0", "team/project/run-1", "A.b_c-d/9",
                           "a/b/c/d/e/f/g/h", "x..", "x--__"}) {
    EXPECT_THAT(ValidateSessionName(name), IsOk()) << name;
  }
}

TEST(SessionNameTest, AcceptsTheLongestSegmentAndName) {
  const std::string segment(63, 'a');
  EXPECT_THAT(ValidateSessionName(segment), IsOk());
  // 3 * 63 + 3 slashes + 8 = 200.
  EXPECT_THAT(ValidateSessionName(segment + "/" + segment + "/" + segment +
                                  "/" + std::string(8, 'b')),
              IsOk());
}

TEST(SessionPrefixTest, IsWhatANameMayStartWith) {
  for (const char* prefix : {"", "a", "team", "team/", "team/pro", "x/.."}) {
    // "x/.." starts no name: a segment starts with a letter or digit.
    EXPECT_EQ(ValidateSessionPrefix(prefix).ok(), std::string(prefix) != "x/..")
        << prefix;
  }
  const std::string segment(63, 'a');
  const std::string long_prefix =
      segment + "/" + segment + "/" + segment + "/" + std::string(6, 'b') + "/";
  ASSERT_EQ(long_prefix.size(), 199u);
  EXPECT_THAT(ValidateSessionPrefix(long_prefix), IsOk());
  // No room for a name behind it.
  EXPECT_FALSE(ValidateSessionPrefix("b" + long_prefix).ok());
  for (const char* prefix : {"/", "/a", "a//", "a b", "*", "-"}) {
    EXPECT_FALSE(ValidateSessionPrefix(prefix).ok()) << prefix;
  }
}

TEST(TokenNameTest, IsOneSegment) {
  EXPECT_THAT(ValidateTokenName("vision-trainers"), IsOk());
  EXPECT_THAT(ValidateTokenName(std::string(63, 'a')), IsOk());
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string(".a"),
        std::string("a b"), std::string(64, 'a')}) {
    EXPECT_THAT(ValidateTokenName(name),
                IsErrorSaying(Reason::kInvalidField, "1 to 63 letters"))
        << name;
  }
}

struct BadName {
  std::string name;
  const char* says;
};

TEST(SessionNameTest, SaysWhichRuleWasBrokenWhere) {
  const std::string segment(63, 'a');
  const BadName table[] = {
      {"", "a segment is empty at byte 0"},
      {"/a", "a segment is empty at byte 0"},
      {"a/", "a segment is empty at byte 2"},
      {"a//b", "a segment is empty at byte 2"},
      {".a", "a segment starts with \".\" at byte 0"},
      {"a/-b", "a segment starts with \"-\" at byte 2"},
      {"a/../b", "a segment starts with \".\" at byte 2"},
      {"a b", "the character \" \" is not allowed at byte 1"},
      {"a\\b", "is not allowed at byte 1"},
      {std::string("a\0b", 3), "the character \"\\x00\" is not allowed"},
      {"\xc3\xbc", "the character \"\\xc3\" is not allowed at byte 0"},
      {segment + "a", "a segment is too long at byte 63"},
      {"b/" + segment + "a", "a segment is too long at byte 65"},
      {segment + "/" + segment + "/" + segment + "/" + std::string(9, 'b'),
       "it has 201 bytes and is too long"},
  };
  for (const BadName& bad : table) {
    EXPECT_THAT(ValidateSessionName(bad.name),
                IsErrorSaying(Reason::kInvalidSessionName, bad.says))
        << bad.name;
  }
}

TEST(SessionNameTest, AHugeNameMakesASmallError) {
  const absl::Status status = ValidateSessionName(std::string(1 << 22, '\xff'));
  EXPECT_LT(status.message().size(), 1000u);
  EXPECT_LT(MetadataOf(status).at("name").size(), 1000u);
}

TEST(IdTest, AcceptsPrintableAscii) {
  EXPECT_THAT(ValidateId("request_id", "!"), IsOk());
  EXPECT_THAT(ValidateId("request_id", "~"), IsOk());
  EXPECT_THAT(ValidateId("request_id", "3f2c/7:{a}"), IsOk());
  EXPECT_THAT(ValidateId("request_id", std::string(64, 'x')), IsOk());
}

TEST(IdTest, NamesTheFieldThatIsWrong) {
  for (const std::string& id :
       {std::string(), std::string(65, 'x'), std::string("a b"),
        std::string("a\x7f"), std::string("\x80"), std::string("a\0", 2)}) {
    const absl::Status status = ValidateId("stream_id", id);
    EXPECT_THAT(status, IsErrorSaying(Reason::kInvalidField, "stream_id"))
        << Quoted(id);
    EXPECT_EQ(MetadataOf(status)["field"], "stream_id");
    EXPECT_EQ(MetadataOf(status)["bytes"], std::to_string(id.size()));
  }
}

}  // namespace
}  // namespace lossscaler
