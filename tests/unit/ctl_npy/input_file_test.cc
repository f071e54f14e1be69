// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;

class InputFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& element) {
    NpyHeader header;
    header.shape = {1};
    std::ofstream(path, std::ios::binary) << NpyPrefix(header) << element;
  }
  absl::Status Read(const InputFile& file) {
    std::byte element[4];
    return file.Read(0, 1, element);
  }
  testing::TempDirectory folder_;
  const std::string path_ = folder_.path() + "/a.npy";
};

TEST_F(InputFileTest, IsReadAsOftenAsOneLikes) {
  Write(path_, "1234");
  const auto file = InputFile::Open(path_);
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(Read(*file), IsOk());
  EXPECT_THAT(Read(*file), IsOk());
}

TEST_F(InputFileTest, IsRefusedOnceItIsAnother) {
  Write(path_, "1234");
  const auto file = InputFile::Open(path_);
  ASSERT_THAT(file, IsOk());
  Write(path_ + ".new", "5678");
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_THAT(Read(*file), IsErrorSaying(Reason::kInvalidFile,
                                         "changed while it was being read"));
}

TEST_F(InputFileTest, IsRefusedOnceItHasAnotherDate) {
  Write(path_, "1234");
  const auto file = InputFile::Open(path_);
  ASSERT_THAT(file, IsOk());
  const timespec dates[] = {{.tv_sec = 1, .tv_nsec = 0},
                            {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), dates, 0), 0);
  EXPECT_THAT(Read(*file), IsErrorSaying(Reason::kInvalidFile,
                                         "changed while it was being read"));
}

}  // namespace
}  // namespace lossscaler::ctl
