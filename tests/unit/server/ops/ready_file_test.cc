// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/ready_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/exit_code.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::TempDirectory;

namespace fs = std::filesystem;

std::string Read(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class ReadyFileTest : public ::testing::Test {
 protected:
  TempDirectory directory_;
  const std::string path_ = absl::StrCat(directory_.path(), "/ready");
  const std::vector<std::string> addresses_ = {"127.0.0.1:7", "unix:/x"};
};

TEST_F(ReadyFileTest, HoldsOneAddressPerLineWhileItLives) {
  auto file = ReadyFile::Write(path_, addresses_);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(Read(path_), "127.0.0.1:7\nunix:/x\n");
  file->reset();
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_F(ReadyFileTest, ReplacesTheFileOfAKilledServer) {
  std::ofstream(path_) << "127.0.0.1:1\n127.0.0.1:2\n127.0.0.1:3\n";
  const auto file = ReadyFile::Write(path_, addresses_);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(Read(path_), "127.0.0.1:7\nunix:/x\n");
}

TEST_F(ReadyFileTest, LeavesTheFileOfASuccessor) {
  auto old = ReadyFile::Write(path_, addresses_);
  ASSERT_THAT(old, IsOk());
  const auto successor =
      ReadyFile::Write(path_, std::vector<std::string>{"127.0.0.1:8"});
  ASSERT_THAT(successor, IsOk());
  old->reset();
  EXPECT_EQ(Read(path_), "127.0.0.1:8\n");
}

TEST_F(ReadyFileTest, UnwritablePathIsAConfigurationError) {
  const std::string folder = absl::StrCat(directory_.path(), "/folder");
  fs::create_directory(folder);
  for (const std::string& path :
       {folder, absl::StrCat(directory_.path(), "/none/ready")}) {
    const auto file = ReadyFile::Write(path, addresses_);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(ExitCodeOf(file.status()), ExitCode::kConfiguration);
  }
  // Nothing half-written stays.
  fs::remove(folder);
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

}  // namespace
}  // namespace lossscaler::server
