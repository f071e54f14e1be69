// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/state_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/child_process.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::ChildProcess;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::InChild;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::lossscaler::testing::TempDirectory;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;

mode_t ModeOf(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777u : 0u;
}

std::string MessageOfAcquire(const std::string& path) {
  const absl::StatusOr<std::unique_ptr<StateDirectory>> acquired =
      StateDirectory::Acquire(path);
  return acquired.ok() ? "acquired" : acquired.status().ToString();
}

TEST(DefaultStateDirectoryTest, PrefersWhatSystemdSays) {
  EXPECT_THAT(DefaultStateDirectory({.is_root = true,
                                     .state_directory = "/run/a:/run/b",
                                     .xdg_state_home = "/x",
                                     .home = "/h"}),
              IsOkAndHolds(Eq("/run/a")));
}

TEST(DefaultStateDirectoryTest, IsTheSystemsForRootAndTheUsersForOthers) {
  EXPECT_THAT(DefaultStateDirectory(
                  {.is_root = true, .xdg_state_home = "/x", .home = "/root"}),
              IsOkAndHolds(Eq("/var/lib/lossscaler")));
  EXPECT_THAT(DefaultStateDirectory({.xdg_state_home = "/x", .home = "/h"}),
              IsOkAndHolds(Eq("/x/lossscaler")));
  EXPECT_THAT(DefaultStateDirectory({.home = "/h"}),
              IsOkAndHolds(Eq("/h/.local/state/lossscaler")));
}

TEST(DefaultStateDirectoryTest, IgnoresARelativeXdgStateHome) {
  EXPECT_THAT(DefaultStateDirectory({.xdg_state_home = "x", .home = "/h"}),
              IsOkAndHolds(Eq("/h/.local/state/lossscaler")));
}

TEST(DefaultStateDirectoryTest, AsksForOneWhenNothingIsKnown) {
  EXPECT_THAT(DefaultStateDirectory({}),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(StateDirectoryTest, CreatesFolderAndParentsForTheOwnerAlone) {
  const TempDirectory temp;
  const std::string path = temp.path() + "/a/b";
  // A mask that hides the owner's rights must not lock the server out.
  const mode_t before = umask(0777);
  const absl::StatusOr<std::unique_ptr<StateDirectory>> directory =
      StateDirectory::Acquire(path);
  umask(before);
  ASSERT_THAT(directory, IsOk());
  EXPECT_EQ((*directory)->path(), path);
  EXPECT_EQ(ModeOf(path), 0700u);
  EXPECT_EQ(ModeOf(temp.path() + "/a"), 0700u);
}

TEST(StateDirectoryTest, LeavesTheModeOfAnExistingFolder) {
  const TempDirectory temp;
  ASSERT_EQ(chmod(temp.path().c_str(), 0750), 0);
  ASSERT_THAT(StateDirectory::Acquire(temp.path()), IsOk());
  EXPECT_EQ(ModeOf(temp.path()), 0750u);
}

TEST(StateDirectoryTest, SaysInTheLockFileWhoHoldsIt) {
  const TempDirectory temp;
  const auto directory = StateDirectory::Acquire(temp.path());
  ASSERT_THAT(directory, IsOk());
  std::ifstream file(temp.path() + "/lock");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, AllOf(HasSubstr(absl::StrCat("process id ", getpid())),
                          HasSubstr("started 2")));
  EXPECT_EQ(ModeOf(temp.path() + "/lock"), 0600u);
}

TEST(StateDirectoryTest, RefusesASecondHolderInTheSameProcess) {
  const TempDirectory temp;
  const auto first = StateDirectory::Acquire(temp.path());
  ASSERT_THAT(first, IsOk());
  const auto second = StateDirectory::Acquire(temp.path());
  EXPECT_THAT(second, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr(absl::StrCat("process id ", getpid())),
                    HasSubstr("started "), HasSubstr(temp.path())));
}

TEST(StateDirectoryTest, RefusesAnotherProcessNamingTheHolder) {
  const TempDirectory temp;
  const auto first = StateDirectory::Acquire(temp.path());
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(InChild([&] { return MessageOfAcquire(temp.path()); }),
              HasSubstr(absl::StrCat("process id ", getpid())));
}

TEST(StateDirectoryTest, IsFreeOnceTheHolderWasKilled) {
  const TempDirectory temp;
  ChildProcess holder([&temp](int fd) {
    const auto held = StateDirectory::Acquire(temp.path());
    ChildProcess::Tell(fd, held.ok() ? "y" : "n");
    for (;;) pause();
  });
  char said = 0;
  ASSERT_EQ(holder.Read(&said, 1), 1u);
  ASSERT_EQ(said, 'y');
  EXPECT_THAT(MessageOfAcquire(temp.path()),
              HasSubstr(absl::StrCat("process id ", holder.pid())));
  holder.Kill();
  EXPECT_THAT(StateDirectory::Acquire(temp.path()), IsOk());
}

TEST(StateDirectoryTest, IsFreeOnceItIsReleased) {
  const TempDirectory temp;
  ASSERT_THAT(StateDirectory::Acquire(temp.path()), IsOk());
  EXPECT_THAT(StateDirectory::Acquire(temp.path()), IsOk());
}

TEST(StateDirectoryTest, RefusesAFile) {
  const TempDirectory temp;
  const std::string path = temp.path() + "/file";
  std::ofstream(path) << "text";
  EXPECT_THAT(MessageOfAcquire(path), HasSubstr("is not a folder"));
  EXPECT_THAT(MessageOfAcquire(path + "/below"), HasSubstr("is not a folder"));
}

TEST(StateDirectoryTest, RefusesAFolderThatCannotBeWritten) {
  const TempDirectory temp;
  const std::string path = temp.path() + "/readonly";
  ASSERT_TRUE(std::filesystem::create_directory(path));
  ASSERT_EQ(chmod(temp.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(path.c_str(), 0555), 0);
  // Root may write anywhere: become nobody.
  const auto as_nobody = [](const std::string& wanted) {
    return InChild([&wanted]() -> std::string {
      if (geteuid() == 0 && setuid(65534) != 0) return "cannot change the user";
      return MessageOfAcquire(wanted);
    });
  };
  EXPECT_THAT(as_nobody(path),
              AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr(path)));
  EXPECT_THAT(as_nobody(path + "/below"),
              AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr(path)));
}

}  // namespace
}  // namespace lossscaler::server
