// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_NPY_FILE_DESCRIPTOR_H_
#define LOSSSCALER_CTL_NPY_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace lossscaler::ctl {

// An open file, closed at the end. -1: none. Move-only.
//
// Thread safety: as an int.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_FILE_DESCRIPTOR_H_
