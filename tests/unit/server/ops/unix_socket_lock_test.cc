// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/unix_socket_lock.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/sync/mutex.h"
#include "ops/exit_code.h"
#include "testing/child_process.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::ChildProcess;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::TempDirectory;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

class UnixSocketLockTest : public ::testing::Test {
 protected:
  // Leaves a socket file as a killed server does.
  void LeaveSocket() {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path_.c_str(), sizeof(name.sun_path) - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    close(fd);
  }
  void WriteFile(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  std::string ReadFile(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  bool Exists(const std::string& path) {
    return fs::exists(fs::symlink_status(path));
  }

  TempDirectory directory_;
  const std::string path_ = absl::StrCat(directory_.path(), "/s");
  const std::string lock_ = absl::StrCat(path_, ".lock");
};

TEST_F(UnixSocketLockTest, SaysWhoHoldsItAndLeavesNothingBehind) {
  auto lock = UnixSocketLock::Acquire(path_);
  ASSERT_THAT(lock, IsOk());
  EXPECT_EQ(ReadFile(lock_), absl::StrCat(getpid(), "\n"));
  LeaveSocket();
  lock->reset();
  EXPECT_FALSE(Exists(lock_));
  EXPECT_FALSE(Exists(path_));
}

TEST_F(UnixSocketLockTest, HeldByAnotherProcessIsRefusedNamingIt) {
  ChildProcess holder([this](int fd) {
    const auto lock = UnixSocketLock::Acquire(path_);
    ChildProcess::Tell(fd, lock.ok() ? "y" : "n");
    pause();
  });
  char answer = 0;
  ASSERT_EQ(holder.Read(&answer, 1), 1u);
  ASSERT_EQ(answer, 'y');
  LeaveSocket();

  const auto lock = UnixSocketLock::Acquire(path_);
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(ExitCodeOf(lock.status()), ExitCode::kBind);
  EXPECT_THAT(std::string(lock.status().message()),
              HasSubstr(absl::StrCat("process ", holder.pid(), " has it")));
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr(path_));
  // The holder's socket is untouched.
  EXPECT_TRUE(Exists(path_));

  holder.Kill();
  EXPECT_THAT(UnixSocketLock::Acquire(path_), IsOk());
}

TEST_F(UnixSocketLockTest, HeldInThisProcessIsRefusedToo) {
  const auto first = UnixSocketLock::Acquire(path_);
  ASSERT_THAT(first, IsOk());
  EXPECT_FALSE(UnixSocketLock::Acquire(path_).ok());
  EXPECT_TRUE(Exists(lock_));
}

TEST_F(UnixSocketLockTest, ReplacesTheSocketOfAKilledServer) {
  LeaveSocket();
  // Longer than any pid that is written over it.
  WriteFile(lock_, "1234567890\n");
  const auto lock = UnixSocketLock::Acquire(path_);
  ASSERT_THAT(lock, IsOk());
  EXPECT_FALSE(Exists(path_));
  EXPECT_EQ(ReadFile(lock_), absl::StrCat(getpid(), "\n"));
}

TEST_F(UnixSocketLockTest, LeavesAForeignFileAlone) {
  WriteFile(path_, "precious");
  const auto lock = UnixSocketLock::Acquire(path_);
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(ExitCodeOf(lock.status()), ExitCode::kBind);
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr("not a socket"));
  EXPECT_EQ(ReadFile(path_), "precious");
  EXPECT_FALSE(Exists(lock_));
}

TEST_F(UnixSocketLockTest, LeavesALinkAlone) {
  // Following it would remove somebody else's socket.
  fs::create_symlink(absl::StrCat(directory_.path(), "/other"), path_);
  EXPECT_FALSE(UnixSocketLock::Acquire(path_).ok());
  EXPECT_TRUE(Exists(path_));
}

TEST_F(UnixSocketLockTest, LeavesAForeignLockFileAlone) {
  WriteFile(lock_, "a shopping list");
  const auto lock = UnixSocketLock::Acquire(path_);
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(std::string(lock.status().message()),
              HasSubstr("is not a lock of this server"));
  EXPECT_EQ(ReadFile(lock_), "a shopping list");
}

TEST_F(UnixSocketLockTest, MissingFolderIsNamed) {
  const auto lock =
      UnixSocketLock::Acquire(absl::StrCat(directory_.path(), "/none/s"));
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(ExitCodeOf(lock.status()), ExitCode::kBind);
  EXPECT_THAT(std::string(lock.status().message()),
              HasSubstr("No such file or directory"));
}

TEST_F(UnixSocketLockTest, LetsOwnerAndGroupConnectWhateverTheUmask) {
  const auto lock = UnixSocketLock::Acquire(path_);
  ASSERT_THAT(lock, IsOk());
  const mode_t before = umask(0);
  LeaveSocket();
  umask(before);
  ASSERT_THAT((*lock)->RestrictMode(), IsOk());
  struct stat found;
  ASSERT_EQ(lstat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0660u);
}

// The file is removed at each release, between others' open() and flock().
TEST_F(UnixSocketLockTest, NeverHasTwoHolders) {
  Mutex mutex;
  int holders = 0;
  int most = 0;
  int taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        auto lock = UnixSocketLock::Acquire(path_);
        if (!lock.ok()) continue;
        {
          MutexLock guard(&mutex);
          most = std::max(most, ++holders);
          ++taken;
        }
        std::this_thread::yield();
        {
          MutexLock guard(&mutex);
          --holders;
        }
        lock->reset();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace lossscaler::server
