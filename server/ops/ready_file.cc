// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/ready_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/exit_code.h"

namespace lossscaler::server {

absl::StatusOr<std::unique_ptr<ReadyFile>> ReadyFile::Write(
    const std::string& path, std::span<const std::string> addresses) {
  const auto refuse = [&path](int error) {
    return MakeExitError(ExitCode::kConfiguration,
                         absl::StrCat("cannot write the ready file ", path,
                                      ": ", strerror(error)));
  };
  std::string text;
  for (const std::string& address : addresses) {
    absl::StrAppend(&text, address, "\n");
  }

  // A name of its own, beside the target: rename() makes it appear whole.
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return refuse(errno);
  struct stat written;
  const bool ok =
      write(fd, text.data(), text.size()) ==
          static_cast<ssize_t>(text.size()) &&
      // mkostemp() lets only the owner read; the addresses are no secret.
      fchmod(fd, 0644) == 0 && fstat(fd, &written) == 0 &&
      rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  close(fd);
  if (!ok) {
    unlink(temporary.c_str());
    return refuse(error);
  }
  return std::unique_ptr<ReadyFile>(
      new ReadyFile(path, written.st_dev, written.st_ino));
}

ReadyFile::ReadyFile(std::string path, dev_t device, ino_t inode)
    : path_(std::move(path)), device_(device), inode_(inode) {}

ReadyFile::~ReadyFile() {
  struct stat found;
  if (lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
      found.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

}  // namespace lossscaler::server
