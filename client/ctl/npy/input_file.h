// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// InputFile: a .npy file that is read.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_CTL_NPY_INPUT_FILE_H_
#define LOSSSCALER_CTL_NPY_INPUT_FILE_H_

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
  // files can be at hand.
  absl::Status Read(std::uint64_t first, std::uint64_t count,
                    std::byte* elements) const;

 private:
  InputFile(std::string path, NpyHeader header)
      : path_(std::move(path)), header_(std::move(header)) {}

  std::string path_;
  NpyHeader header_;
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_INPUT_FILE_H_
