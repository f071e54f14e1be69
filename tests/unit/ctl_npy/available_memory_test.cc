// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/available_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/temp_directory.h"

namespace lossscaler::ctl {
namespace {

class AvailableMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void WriteGroup(const std::string& folder, const std::string& max,
                  const std::string& current, const std::string& inactive) {
    Write("cgroup" + folder + "/memory.max", max + "\n");
    Write("cgroup" + folder + "/memory.current", current + "\n");
    Write("cgroup" + folder + "/memory.stat",
          "anon 1\ninactive_anon 5\ninactive_file " + inactive + "\n");
  }
  std::uint64_t Available(std::uint64_t address_space = kNoMemoryLimit) {
    return AvailableMemory(folder_.path() + "/proc", folder_.path() + "/cgroup",
                           address_space);
  }
  testing::TempDirectory folder_;
};

TEST_F(AvailableMemoryTest, IsWhatTheMachineHas) {
  Write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   1000 kB\n");
  EXPECT_EQ(Available(), 1000 * 1024);
}

TEST_F(AvailableMemoryTest, IsLessInAFullControlGroup) {
  Write("proc/meminfo", "MemAvailable:   1000 kB\n");
  Write("proc/self/cgroup", "1:cpu:/x\n0::/a/b\n");
  WriteGroup("/a/b", "max", "500", "0");
  EXPECT_EQ(Available(), 1000 * 1024);
  // The parent's limit holds for the child: 5000 - (4000 - 300).
  WriteGroup("/a", "5000", "4000", "300");
  EXPECT_EQ(Available(), 1300);
  WriteGroup("/a/b", "700", "900", "0");
  EXPECT_EQ(Available(), 0);
}

TEST_F(AvailableMemoryTest, IsWhatTheAddressSpaceLeavesBesideThreads) {
  Write("proc/self/status", "Name:\tx\nVmSize:\t  1000 kB\n");
  // 256 MiB for the threads, 1000 KiB in use.
  constexpr std::uint64_t kTaken = 256 * 1024 * 1024 + 1000 * 1024;
  EXPECT_EQ(Available(kTaken + 5), 5);
  EXPECT_EQ(Available(kTaken - 1), 0);
  Write("proc/meminfo", "MemAvailable: 1 kB\n");
  EXPECT_EQ(Available(kTaken + 5000), 1024);
}

TEST_F(AvailableMemoryTest, IsUnlimitedWhereNothingIsKnown) {
  EXPECT_EQ(Available(), kNoMemoryLimit);
}

}  // namespace
}  // namespace lossscaler::ctl
