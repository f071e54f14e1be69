// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/unix_socket_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ops/exit_code.h"

namespace lossscaler::server {
namespace {

// A lock file holds a process id and a newline.
constexpr std::size_t kMaxLockFile = 32;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::Status Refuse(const std::string& socket_path, const std::string& why) {
  return MakeExitError(
      ExitCode::kBind,
      absl::StrCat("cannot listen on unix:", socket_path, ": ", why));
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string ReadLock(int fd) {
  char text[kMaxLockFile + 1];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

// Empty while its holder has just created it.
bool LooksLikeLock(const std::string& text) {
  int pid = 0;
  return text.empty() ||
         (text.size() <= kMaxLockFile && absl::SimpleAtoi(text, &pid));
}

std::string Holder(const std::string& text) {
  const std::string pid(absl::StripAsciiWhitespace(text));
  return pid.empty() ? "another process" : absl::StrCat("process ", pid);
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixSocketLock>> UnixSocketLock::Acquire(
    const std::string& socket_path) {
  const std::string lock_path = absl::StrCat(socket_path, ".lock");
  while (true) {
    FileDescriptor fd(
        open(lock_path.c_str(),
             O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
             0660));
    if (fd.get() < 0) {
      return Refuse(socket_path,
                    absl::StrCat("its lock ", lock_path,
                                 " cannot be opened: ", strerror(errno)));
    }
    struct stat opened;
    if (fstat(fd.get(), &opened) != 0 || !S_ISREG(opened.st_mode) ||
        !LooksLikeLock(ReadLock(fd.get()))) {
      return Refuse(socket_path,
                    absl::StrCat("the file ", lock_path,
                                 " is not a lock of this server and is left "
                                 "alone; choose another path"));
    }
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) {
        return Refuse(socket_path,
                      absl::StrCat("its lock ", lock_path,
                                   " cannot be taken: ", strerror(errno)));
      }
      return Refuse(
          socket_path,
          absl::StrCat(Holder(ReadLock(fd.get())), " has it (lock ", lock_path,
                       "); stop that server or choose another path"));
    }
    // The previous holder may have removed the file between open and flock.
    struct stat named;
    if (lstat(lock_path.c_str(), &named) != 0 || !SameFile(opened, named)) {
      continue;
    }

    std::unique_ptr<UnixSocketLock> lock(
        new UnixSocketLock(socket_path, lock_path, fd.release()));
    const std::string pid = absl::StrCat(getpid(), "\n");
    if (ftruncate(lock->fd_, 0) != 0 ||
        pwrite(lock->fd_, pid.data(), pid.size(), 0) !=
            static_cast<ssize_t>(pid.size())) {
      return Refuse(socket_path,
                    absl::StrCat("its lock ", lock_path,
                                 " cannot be written: ", strerror(errno)));
    }
    struct stat found;
    if (lstat(socket_path.c_str(), &found) != 0) {
      if (errno == ENOENT) return lock;
      return Refuse(socket_path, strerror(errno));
    }
    if (!S_ISSOCK(found.st_mode)) {
      return Refuse(socket_path,
                    "there is something at that path that is not a socket; it "
                    "is left alone; remove it or choose another path");
    }
    if (unlink(socket_path.c_str()) != 0) {
      return Refuse(socket_path,
                    absl::StrCat("the socket that a stopped server left cannot "
                                 "be removed: ",
                                 strerror(errno)));
    }
    return lock;
  }
}

UnixSocketLock::UnixSocketLock(std::string socket_path, std::string lock_path,
                               int fd)
    : socket_path_(std::move(socket_path)),
      lock_path_(std::move(lock_path)),
      fd_(fd) {}

UnixSocketLock::~UnixSocketLock() {
  // Only a socket: Acquire() may have refused what it found there.
  struct stat found;
  if (lstat(socket_path_.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
    unlink(socket_path_.c_str());
  }
  // Before the lock ends, while nobody else can have one at this path. A file
  // that somebody put there since is not ours.
  struct stat held;
  struct stat named;
  if (fstat(fd_, &held) == 0 && lstat(lock_path_.c_str(), &named) == 0 &&
      SameFile(held, named)) {
    unlink(lock_path_.c_str());
  }
  close(fd_);
}

absl::Status UnixSocketLock::RestrictMode() const {
  if (chmod(socket_path_.c_str(), 0660) != 0) {
    return Refuse(socket_path_, absl::StrCat("its mode cannot be set to 0660: ",
                                             strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace lossscaler::server
