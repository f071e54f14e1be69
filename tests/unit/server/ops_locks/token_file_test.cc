// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/token_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using lossscaler::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

// sha256("abc"), an example of FIPS 180.
constexpr char kAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
// sha256("hello").
constexpr char kHello[] =
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

class TokenFileTest : public ::testing::Test {
 protected:
  static std::string TokenNamed(const std::string& name,
                                const std::string& hash) {
    return absl::StrCat("[[token]]\nname = \"", name,
                        "\"\nrole = \"worker\"\nsha256 = \"", hash, "\"\n");
  }

  TokenFileTest() {
    WriteFile(path_, TokenNamed("abc", kAbc));
    tokens_ = *TokenFile::Open(path_);
  }

  const lossscaler::testing::TempDirectory directory_;
  const std::string path_ = directory_.path() + "/tokens.toml";
  std::unique_ptr<TokenFile> tokens_;
};

TEST_F(TokenFileTest, ABearerTokenSaysWhoCalls) {
  for (const std::string header :
       {"Bearer abc", "bearer abc", "BEARER abc", "Bearer   abc"}) {
    const auto caller = tokens_->Identify(header);
    ASSERT_THAT(caller, IsOk()) << header;
    EXPECT_EQ((*caller)->name, "abc");
  }
}

TEST_F(TokenFileTest, WhoShowsNoneIsAskedForOne) {
  for (const std::string header :
       {"", " ", "Bearer", "Bearer ", "Basic abc", "abc", "Bearerabc",
        "Bearer\tabc", " Bearer abc"}) {
    const auto caller = tokens_->Identify(header);
    EXPECT_THAT(caller, IsError(Reason::kTokenRequired)) << header;
    EXPECT_THAT(std::string(caller.status().message()),
                HasSubstr("authorization: Bearer TOKEN"));
  }
}

TEST_F(TokenFileTest, ATokenThatIsNotInForceIsUnknownAndNeverRepeated) {
  for (const std::string& token :
       {std::string("wrong"), std::string("abcd"), std::string("abc "),
        std::string("abc,abc"), std::string("abc abc"), std::string("abc\0", 4),
        std::string("ab\x7f"), std::string("\xff\xfe"), std::string("abc\n"),
        std::string(TokenFile::kMaxHeaderBytes, 'a'), std::string(kAbc)}) {
    const auto caller = tokens_->Identify("Bearer " + token);
    ASSERT_THAT(caller, IsError(Reason::kTokenUnknown)) << token;
    EXPECT_THAT(std::string(caller.status().message()), Not(HasSubstr(token)));
    EXPECT_EQ(caller.status().message(),
              tokens_->Identify("Bearer x").status().message());
  }
  // Too long, whatever it is.
  EXPECT_THAT(tokens_->Identify(std::string(1 << 20, 'B')),
              IsError(Reason::kTokenUnknown));
}

TEST_F(TokenFileTest, ATokenOfTheLargestHeaderIsLookedAt) {
  const std::string header =
      "Bearer " +
      std::string(TokenFile::kMaxHeaderBytes - std::string("Bearer ").size(),
                  'a');
  ASSERT_EQ(header.size(), TokenFile::kMaxHeaderBytes);
  // As sha256sum says of 4,089 times 'a'.
  WriteFile(
      path_,
      TokenNamed(
          "long",
          "ccd5f9e743af303be799ed5ceb589e772a5325ff7b7178cee92630aad2e733ed"));
  EXPECT_THAT(tokens_->Refresh(), Optional(IsOk()));
  EXPECT_THAT(tokens_->Identify(header), IsOk());
}

TEST_F(TokenFileTest, ATokenThatWasRemovedIsUnknownAndANewOneKnown) {
  EXPECT_EQ(tokens_->Refresh(), std::nullopt);
  const auto before = tokens_->Identify("Bearer abc");
  ASSERT_THAT(before, IsOk());
  WriteFile(path_, TokenNamed("hello", kHello));
  // Not before the file is looked at.
  EXPECT_THAT(tokens_->Identify("Bearer abc"), IsOk());
  EXPECT_THAT(tokens_->Refresh(), Optional(IsOk()));
  EXPECT_THAT(tokens_->Identify("Bearer abc"), IsError(Reason::kTokenUnknown));
  const auto caller = tokens_->Identify("Bearer hello");
  ASSERT_THAT(caller, IsOk());
  EXPECT_EQ((*caller)->name, "hello");
  // Who was let in before is still who they were.
  EXPECT_EQ((*before)->name, "abc");
}

TEST_F(TokenFileTest, ABadFileLeavesTheTokensBeforeInForce) {
  const auto expect_refused = [&](const std::string& says) {
    EXPECT_THAT(tokens_->Refresh(),
                Optional(HasCode(absl::StatusCode::kInvalidArgument)))
        << says;
    EXPECT_EQ(tokens_->Refresh(), std::nullopt) << says;
    EXPECT_THAT(tokens_->Identify("Bearer abc"), IsOk()) << says;
  };
  WriteFile(path_, "garbage");
  expect_refused("garbage");
  WriteFile(path_, "");
  expect_refused("empty");
  WriteFile(path_, TokenNamed("hello", kHello), 0644);
  expect_refused("open to others");
  ASSERT_EQ(unlink(path_.c_str()), 0);
  expect_refused("gone");
  WriteFile(path_, TokenNamed("hello", kHello));
  EXPECT_THAT(tokens_->Refresh(), Optional(IsOk()));
  EXPECT_THAT(tokens_->Identify("Bearer hello"), IsOk());
}

TEST_F(TokenFileTest, AChangeOfModeAloneIsNoticed) {
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  const auto news = tokens_->Refresh();
  ASSERT_THAT(news, Optional(Not(IsOk())));
  EXPECT_THAT(std::string(news->message()), HasSubstr("chmod o= "));
}

TEST_F(TokenFileTest, DoesNotOpenWhatIsBad) {
  WriteFile(path_, TokenNamed("abc", kAbc), 0604);
  EXPECT_THAT(TokenFile::Open(path_),
              HasCode(absl::StatusCode::kInvalidArgument));
  WriteFile(path_, "abc");
  const auto tokens = TokenFile::Open(path_);
  ASSERT_THAT(tokens, HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(tokens.status().message()),
              AllOf(HasSubstr(path_), HasSubstr("line 1")));
}

TEST_F(TokenFileTest, CallsAreIdentifiedWhileTheFileChanges) {
  constexpr int kChanges = 100;
  std::thread caller([&] {
    // Known before and after, whatever else is.
    while (!tokens_->Identify("Bearer hello").ok()) {
      EXPECT_THAT(tokens_->Identify("Bearer abc"), IsOk());
    }
  });
  for (int i = 0; i < kChanges; ++i) {
    WriteFile(path_, absl::StrCat("# ", i, "\n", TokenNamed("abc", kAbc)));
    EXPECT_THAT(tokens_->Refresh(), Optional(IsOk()));
  }
  WriteFile(path_, TokenNamed("abc", kAbc) + TokenNamed("hello", kHello));
  EXPECT_THAT(tokens_->Refresh(), Optional(IsOk()));
  caller.join();
}

}  // namespace
}  // namespace lossscaler::server
