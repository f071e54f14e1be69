// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/watched_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/child_process.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/write_file.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsOk;
using lossscaler::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

class WatchedFileTest : public ::testing::Test {
 protected:
  std::string Refusal() const {
    const auto file = ReadWatchedFile("tls_key", path_);
    EXPECT_THAT(file, HasCode(absl::StatusCode::kInvalidArgument));
    return std::string(file.status().message());
  }

  const lossscaler::testing::TempDirectory directory_;
  const std::string path_ = directory_.path() + "/file";
};

TEST_F(WatchedFileTest, IsReadWholeWithWhatOthersMay) {
  const std::string text("bytes\0and\n", 10);
  WriteFile(path_, text, 0640);
  const auto closed = ReadWatchedFile("tls_key", path_);
  ASSERT_THAT(closed, IsOk());
  EXPECT_EQ(closed->text, text);
  EXPECT_EQ(closed->others_may, 0u);
  EXPECT_THAT(CheckClosedToOthers(*closed), IsOk());
}

TEST_F(WatchedFileTest, OneThatOthersMayUseIsRefusedWithTheCommandToRun) {
  for (const auto& [mode, what] : {std::pair(0644, "read"),
                                   {0642, "change"},
                                   {0641, "execute"},
                                   {0777, "read"}}) {
    WriteFile(path_, "secret", static_cast<mode_t>(mode));
    const auto file = ReadWatchedFile("token_file", path_);
    ASSERT_THAT(file, IsOk());
    EXPECT_THAT(std::string(CheckClosedToOthers(*file).message()),
                AllOf(HasSubstr("token_file"), HasSubstr(path_),
                      HasSubstr(std::string("may ") + what),
                      HasSubstr("chmod o= "), Not(HasSubstr("secret\""))))
        << mode;
  }
}

TEST_F(WatchedFileTest, LinksAreFollowedAsKubernetesMakesThem) {
  std::filesystem::create_directory(directory_.path() + "/..2026");
  WriteFile(directory_.path() + "/..2026/file", "text");
  std::filesystem::create_directory_symlink("..2026",
                                            directory_.path() + "/..data");
  std::filesystem::create_symlink("..data/file", path_);
  const auto file = ReadWatchedFile("tls_key", path_);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->text, "text");
  EXPECT_THAT(CheckClosedToOthers(*file), IsOk());
}

TEST_F(WatchedFileTest, WhatIsMissingOrNoFileIsRefusedAtOnce) {
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("tls_key: \"" + path_ + "\""),
                               HasSubstr("No such file or directory")));
  std::filesystem::create_directory(path_);
  EXPECT_THAT(Refusal(), HasSubstr("not a regular file"));
  std::filesystem::remove(path_);
  // Nobody writes into it.
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Refusal(), HasSubstr("not a regular file"));
}

TEST_F(WatchedFileTest, OneThatIsTooLargeIsRefused) {
  WriteFile(path_, std::string(kMaxWatchedFileBytes, 'x'));
  EXPECT_THAT(ReadWatchedFile("tls_key", path_), IsOk());
  WriteFile(path_, std::string(kMaxWatchedFileBytes + 1, 'x'));
  EXPECT_THAT(Refusal(), HasSubstr("more than 1048576 bytes"));
}

TEST_F(WatchedFileTest, OneOfAnotherUserIsRefusedWithWhoShouldReadIt) {
  WriteFile(path_, "secret", 0600);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  if (geteuid() != 0) {
    ASSERT_EQ(chmod(path_.c_str(), 0000), 0);
  }
  const std::string message = lossscaler::testing::InChild([&]() {
    if (geteuid() == 0 && setuid(65534) != 0) {
      return std::string("cannot change the user");
    }
    return std::string(ReadWatchedFile("tls_key", path_).status().message());
  });
  const std::string user = geteuid() == 0 ? "65534" : std::to_string(geteuid());
  EXPECT_THAT(message, AllOf(HasSubstr("tls_key: \"" + path_ + "\""),
                             HasSubstr("Permission denied"),
                             HasSubstr("let user " + user)));
}

}  // namespace
}  // namespace lossscaler::server
