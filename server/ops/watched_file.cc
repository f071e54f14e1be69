// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/watched_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {
namespace {

class ReadOnlyFile {
 public:
  // Opening a pipe must not wait for its writer.
  explicit ReadOnlyFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~ReadOnlyFile() {
    if (fd_ >= 0) close(fd_);
  }
  ReadOnlyFile(const ReadOnlyFile&) = delete;
  ReadOnlyFile& operator=(const ReadOnlyFile&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status CannotRead(const WatchedFile& file) {
  const int error = errno;
  return FileError(
      file, absl::StrCat("cannot be read: ", strerror(error),
                         error == EACCES
                             ? absl::StrCat("; let user ", geteuid(),
                                            ", as whom the server runs, or its "
                                            "group read it")
                             : ""));
}

}  // namespace

absl::StatusOr<WatchedFile> ReadWatchedFile(std::string_view setting,
                                            const std::string& path) {
  WatchedFile result{.setting = setting, .path = path, .text = {}};
  const ReadOnlyFile file(path);
  struct stat found;
  if (file.get() < 0 || fstat(file.get(), &found) != 0) {
    return CannotRead(result);
  }
  if (!S_ISREG(found.st_mode)) {
    return FileError(result, "is not a regular file; name one");
  }
  result.others_may = found.st_mode & S_IRWXO;
  result.text.resize(kMaxWatchedFileBytes + 1);
  std::size_t size = 0;
  while (size < result.text.size()) {
    const ssize_t got =
        read(file.get(), result.text.data() + size, result.text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(result);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxWatchedFileBytes) {
    return FileError(result,
                     absl::StrCat("has more than ", kMaxWatchedFileBytes,
                                  " bytes; is it the right file?"));
  }
  result.text.resize(size);
  result.text.shrink_to_fit();
  return result;
}

absl::Status CheckClosedToOthers(const WatchedFile& file) {
  if (file.others_may == 0) return absl::OkStatus();
  return FileError(
      file, absl::StrCat("is secret, and every user of this machine may ",
                         (file.others_may & S_IROTH) != 0   ? "read"
                         : (file.others_may & S_IWOTH) != 0 ? "change"
                                                            : "execute",
                         " it; run: chmod o= ", Quoted(file.path)));
}

absl::Status FileError(const WatchedFile& file, std::string_view what,
                       std::size_t line) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(file.setting), ": ", Quoted(file.path),
                   line == 0 ? "" : absl::StrCat(", line ", line, ":"), " ",
                   std::string(what)));
}

}  // namespace lossscaler::server
