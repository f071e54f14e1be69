// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/token_table.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The examples of FIPS 180.
constexpr char kShortToken[] = "abc";
constexpr char kShortHash[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kLongToken[] =
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
constexpr char kLongHash[] =
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr char kHashOfNothing[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

absl::StatusOr<TokenTable> ParseTokens(const std::string& text) {
  return TokenTable::Parse(
      {.setting = "token_file", .path = "/etc/tokens", .text = text});
}

std::string Entry(const std::string& name, const std::string& role,
                  const std::string& hash, const std::string& more = "") {
  return absl::StrCat("[[token]]\nname = \"", name, "\"\nrole = \"", role,
                      "\"\nsha256 = \"", hash, "\"\n", more);
}

TEST(TokenTable, FindsTheCallerOfEachToken) {
  const auto table = ParseTokens(
      absl::StrCat("# Ours\n", Entry("ops", "admin", kShortHash),
                   Entry("vision", "worker", absl::AsciiStrToUpper(kLongHash),
                         "sessions = \"vision/\"\n")));
  ASSERT_THAT(table, IsOk());
  EXPECT_EQ(table->size(), 2u);
  const auto ops = table->Find(kShortToken);
  ASSERT_NE(ops, nullptr);
  EXPECT_EQ(ops->name, "ops");
  EXPECT_EQ(ops->role, Role::kAdmin);
  EXPECT_EQ(ops->sessions, "");
  const auto vision = table->Find(kLongToken);
  ASSERT_NE(vision, nullptr);
  EXPECT_EQ(vision->name, "vision");
  EXPECT_EQ(vision->role, Role::kWorker);
  EXPECT_EQ(vision->sessions, "vision/");
}

TEST(TokenTable, OtherTokensAreNobodys) {
  const auto table = ParseTokens(Entry("ops", "viewer", kShortHash));
  ASSERT_THAT(table, IsOk());
  for (const std::string& token :
       {std::string(), std::string("ab"), std::string("abcd"),
        std::string("Abc"), std::string("abc\0", 4), std::string(kShortHash),
        std::string(kLongToken)}) {
    EXPECT_EQ(table->Find(token), nullptr) << token;
  }
}

TEST(TokenTable, EveryBitOfAHashCounts) {
  for (const std::size_t digit : {0u, 1u, 31u, 62u, 63u}) {
    std::string other = kShortHash;
    other[digit] = other[digit] == '1' ? '2' : '1';
    const auto table = ParseTokens(Entry("ops", "viewer", other));
    ASSERT_THAT(table, IsOk());
    EXPECT_EQ(table->Find(kShortToken), nullptr) << digit;
  }
}

// What a good entry becomes by one change, the line that is named, and a part
// of the message.
TEST(TokenTable, WhatIsWrongIsSaidWithItsLineAndWithoutTheText) {
  const std::string good = Entry("first", "admin", kShortHash);
  struct Case {
    std::string text;
    int line;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"[[token]]\nname = \"s3cret\nrole = 1", 2, "not TOML"},
      {"s3cret", 1, "not TOML"},
      {"[[token]]\nname=\"s3cret\"\nname=\"s3cret\"", 3, "not TOML"},
      {"s3cret = 1\n", 1, "nothing but [[token]]"},
      {good + "[s3cret]\n", 5, "nothing but [[token]]"},
      {"[token]\nname = \"s3cret\"\n", 1, "nothing but [[token]]"},
      {"token = [1]\n", 1, "nothing but [[token]]"},
      {good + "token = \"s3cret\"\n", 5, "a key that a [[token]] does not"},
      {"[[token]]\nname = 7\n", 2, "name is no string"},
      {"[[token]]\nname = \"a\"\nrole = [\"s3cret\"]\n", 3,
       "role is no string"},
      {good + "\n[[token]]\nname = \"s3cret\"\n", 6,
       "needs name, role and sha256"},
      {Entry("", "admin", kShortHash), 1, "needs name, role and sha256"},
      {Entry("s3cret/x", "admin", kShortHash), 1, "name must be"},
      {Entry("s3cret x", "admin", kShortHash), 1, "name must be"},
      {Entry(std::string(64, 'x'), "admin", kShortHash), 1, "name must be"},
      {Entry("a", "s3cret", kShortHash), 1, "role must be"},
      {Entry("a", "Admin", kShortHash), 1, "role must be"},
      {Entry("a", "worker", kShortHash, "sessions = \"/s3cret\"\n"), 1,
       "sessions must be"},
      {Entry("a", "worker", kShortHash, "sessions = \"s3cret//\"\n"), 1,
       "sessions must be"},
      {Entry("a", "worker", kShortHash, "sessions = \"s3cret*\"\n"), 1,
       "sessions must be"},
      {Entry("a", "admin", "s3cret"), 1, "64 hexadecimal digits"},
      {Entry("a", "admin", std::string(kShortHash) + "0"), 1,
       "64 hexadecimal digits"},
      {Entry("a", "admin", "z" + std::string(kShortHash).substr(1)), 1,
       "64 hexadecimal digits"},
      {Entry("a", "admin", std::string(64, '0')), 1, "no token"},
      {Entry("a", "admin", kHashOfNothing), 1, "no token"},
      {good + Entry("first", "viewer", kLongHash), 5, "the same name"},
      {good + Entry("second", "viewer", kShortHash), 5, "the same sha256"},
  };
  for (const Case& c : cases) {
    const auto table = ParseTokens(c.text);
    ASSERT_THAT(table, HasCode(absl::StatusCode::kInvalidArgument)) << c.text;
    EXPECT_THAT(std::string(table.status().message()),
                AllOf(StartsWith(absl::StrCat(
                          "token_file: \"/etc/tokens\", line ", c.line, ": ")),
                      HasSubstr(c.says), Not(HasSubstr("s3cret")),
                      Not(HasSubstr(kShortHash)), Not(HasSubstr(kLongHash))))
        << c.text;
  }
}

TEST(TokenTable, AFileWithoutATokenIsRefused) {
  for (const std::string text : {"", "\n# none\n", "token = []\n"}) {
    const auto table = ParseTokens(text);
    ASSERT_THAT(table, HasCode(absl::StatusCode::kInvalidArgument)) << text;
    EXPECT_THAT(std::string(table.status().message()),
                HasSubstr("nobody could call"));
  }
}

TEST(TokenTable, PrefixesOfSessionNamesAreTaken) {
  for (const std::string prefix : {"", "team", "team/", "team/pro"}) {
    const auto table =
        ParseTokens(Entry("a", "worker", kShortHash,
                          absl::StrCat("sessions = \"", prefix, "\"\n")));
    ASSERT_THAT(table, IsOk()) << prefix;
    EXPECT_EQ(table->Find(kShortToken)->sessions, prefix);
  }
}

}  // namespace
}  // namespace lossscaler::server
