// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "ctl/npy/elements.h"
#include "ctl/npy/file_descriptor.h"
#include "ctl/npy/file_error.h"

namespace lossscaler::ctl {
namespace {

constexpr char kChanged[] = "has changed while it was being read";
constexpr bool kBigEndianMachine = std::endian::native == std::endian::big;

// O_NONBLOCK: opening a FIFO must not wait for somebody who writes to it.
FileDescriptor OpenToRead(const std::string& path) {
  return FileDescriptor(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Reads `size` bytes from `offset` on; how many there were, or -1.
std::int64_t ReadAt(int fd, char* bytes, std::uint64_t size,
                    std::uint64_t offset) {
  // A read() of more is cut by the kernel anyway.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, bytes + done, std::min(size - done, kMost),
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::uint64_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

absl::Status CheckFileSize(const std::string& path, const NpyHeader& header,
                           std::uint64_t actual) {
  const std::uint64_t expected = header.data_offset + header.data_bytes();
  if (actual == expected) return absl::OkStatus();
  return FileError(
      path,
      absl::StrCat(actual < expected ? "is truncated"
                                     : "has bytes after its last element",
                   ": its header makes it ", expected, " bytes, it has ",
                   actual),
      {{"expected_bytes", absl::StrCat(expected)},
       {"bytes", absl::StrCat(actual)}});
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  const FileDescriptor file = OpenToRead(path);
  if (!file.ok()) return FileErrno(path, "cannot be opened", errno);
  struct stat info;
  if (fstat(file.get(), &info) != 0) {
    return FileErrno(path, "cannot be looked at", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return FileError(path, absl::StrCat("is ", KindOf(info.st_mode),
                                        "; a .npy file belongs here"));
  }
  std::string prefix(kMaxNpyPrefixBytes, '\0');
  const std::int64_t got = ReadAt(file.get(), prefix.data(), prefix.size(), 0);
  if (got < 0) return FileErrno(path, "cannot be read", errno);
  prefix.resize(static_cast<std::size_t>(got));
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(prefix);
  if (!header.ok()) {
    return FileError(path, std::string(header.status().message()));
  }
  const absl::Status size =
      CheckFileSize(path, *header, static_cast<std::uint64_t>(info.st_size));
  if (!size.ok()) return size;
  return InputFile(path, *std::move(header), Identity(info));
}

InputFile::Identity::Identity(const struct stat& info)
    : device(info.st_dev),
      number(info.st_ino),
      size(info.st_size),
      changed_seconds(info.st_mtim.tv_sec),
      changed_nanoseconds(info.st_mtim.tv_nsec) {}

bool InputFile::IsUnchanged(int fd) const {
  struct stat info;
  return fstat(fd, &info) == 0 && Identity(info) == identity_;
}

absl::Status InputFile::Read(std::uint64_t first, std::uint64_t count,
                             std::byte* elements) const {
  const FileDescriptor file = OpenToRead(path_);
  if (!file.ok()) return FileErrno(path_, "cannot be opened", errno);
  // Before, so that nobody waits for the content of another file.
  if (!IsUnchanged(file.get())) return FileError(path_, kChanged);
  const std::uint64_t size = ElementSize(header_.type);
  const std::int64_t got =
      ReadAt(file.get(), reinterpret_cast<char*>(elements), count * size,
             header_.data_offset + first * size);
  if (got < 0) return FileErrno(path_, "cannot be read", errno);
  if (static_cast<std::uint64_t>(got) != count * size ||
      !IsUnchanged(file.get())) {
    return FileError(path_, kChanged);
  }
  if (header_.big_endian != kBigEndianMachine) {
    SwapBytes(header_.type, count, elements);
  }
  return absl::OkStatus();
}

}  // namespace lossscaler::ctl
