// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// InputFile: a .npy file that is read.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_CTL_NPY_INPUT_FILE_H_
#define LOSSSCALER_CTL_NPY_INPUT_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ctl/npy/header.h"

namespace lossscaler::ctl {

class InputFile {
 public:
  // Reads the header, and checks that the file is a regular one and holds what
  // its header says, to the byte.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const NpyHeader& header() const { return header_; }

  // Reads `count` elements from number `first` on, in the byte order of the
  // machine, into `elements`. The file is opened anew, so that any number of
  // files can be at hand; one that has been replaced or written to since Open()
  // is refused.
  absl::Status Read(std::uint64_t first, std::uint64_t count,
                    std::byte* elements) const;

 private:
  // The file and its content, as far as the file system tells.
  struct Identity {
    explicit Identity(const struct stat& info);
    bool operator==(const Identity&) const = default;

    dev_t device;
    ino_t number;
    off_t size;
    time_t changed_seconds;
    std::int64_t changed_nanoseconds;
  };

  InputFile(std::string path, NpyHeader header, const Identity& identity)
      : path_(std::move(path)),
        header_(std::move(header)),
        identity_(identity) {}

  // Whether what is open is still what Open() saw.
  bool IsUnchanged(int fd) const;

  std::string path_;
  NpyHeader header_;
  Identity identity_;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_INPUT_FILE_H_
