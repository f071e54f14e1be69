// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace lossscaler::server {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

absl::Status Failed(int error, std::string_view doing, std::string_view path,
                    std::string_view remedy) {
  return absl::ErrnoToStatus(
      error, absl::StrCat("cannot ", std::string(doing), " '",
                          std::string(path), "'; ", std::string(remedy)));
}

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) {
    // The process's umask may have taken the owner's own rights away.
    if (chmod(path.c_str(), 0700) == 0) return absl::OkStatus();
    return Failed(errno, "set the mode of", path,
                  "make it a folder that the server's user may change");
  }
  const int error = errno;
  struct stat found;
  if (stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("'", path,
                     "' is not a folder; name a folder for the state or move "
                     "the file away"));
  }
  return Failed(error, "create the state folder", path,
                "create it for the server's user or name another one");
}

// With parents.
absl::Status MakeFolders(const std::string& path) {
  for (std::string::size_type end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    absl::Status status = MakeFolder(path.substr(0, end));
    if (!status.ok()) return status;
  }
  return MakeFolder(path);
}

std::string ReadHolder(int fd) {
  char text[256];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  if (size <= 0) return "a process that has not said who it is yet";
  std::string holder(text, static_cast<std::string::size_type>(size));
  absl::StripAsciiWhitespace(&holder);
  return absl::StrReplaceAll(holder, {{"\n", ", "}});
}

bool WriteHolder(int fd) {
  const std::string text = absl::StrCat(
      "process id ", getpid(), "\nstarted ",
      absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()),
      "\n");
  return ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) ==
                                      static_cast<ssize_t>(text.size());
}

}  // namespace

UserEnvironment CurrentUserEnvironment() {
  return {.is_root = geteuid() == 0,
          .state_directory = Variable("STATE_DIRECTORY"),
          .xdg_state_home = Variable("XDG_STATE_HOME"),
          .home = Variable("HOME")};
}

absl::StatusOr<std::string> DefaultStateDirectory(
    const UserEnvironment& environment) {
  const std::string first = environment.state_directory.substr(
      0, environment.state_directory.find(':'));
  if (!first.empty()) return first;
  if (environment.is_root) return std::string("/var/lib/lossscaler");
  if (environment.xdg_state_home.starts_with('/')) {
    return absl::StrCat(environment.xdg_state_home, "/lossscaler");
  }
  if (!environment.home.empty()) {
    return absl::StrCat(environment.home, "/.local/state/lossscaler");
  }
  return absl::InvalidArgumentError(
      "there is no default folder for the state: none of STATE_DIRECTORY, "
      "XDG_STATE_HOME and HOME is set; name one with sqlite:DIR");
}

absl::StatusOr<std::unique_ptr<StateDirectory>> StateDirectory::Acquire(
    const std::string& path) {
  if (absl::Status status = MakeFolders(path); !status.ok()) return status;
  const std::string lock_path = absl::StrCat(path, "/lock");
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Failed(errno, "open the lock file", lock_path,
                  "the state folder must be writable for the server's user");
  }
  auto directory = absl::WrapUnique(new StateDirectory(path, fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return Failed(errno, "lock", lock_path,
                    "put the state on a file system that has flock");
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "the state folder '", path, "' is in use by another server (",
        ReadHolder(fd), "); stop that one or name another folder"));
  }
  if (!WriteHolder(fd)) {
    return Failed(errno, "write the lock file", lock_path,
                  "make room on the file system");
  }
  return directory;
}

StateDirectory::StateDirectory(std::string path, int lock_fd)
    : path_(std::move(path)), lock_fd_(lock_fd) {}

StateDirectory::~StateDirectory() { close(lock_fd_); }

}  // namespace lossscaler::server
