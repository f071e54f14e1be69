// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Errors about files: "a.npy: is a folder".
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_NPY_FILE_ERROR_H_
#define LOSSSCALER_CTL_NPY_FILE_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {

// The path as a terminal may show it: escaped if it is not printable UTF-8.
std::string PathText(const std::string& path);

// INVALID_FILE: the same call fails again. Metadata "file" is `path`.
absl::Status FileError(const std::string& path, std::string_view what,
                       ErrorMetadata metadata = {});

// The same of a system call that failed: "cannot be opened: No such file".
// Metadata "error" is why.
absl::Status FileErrno(const std::string& path, std::string_view what,
                       int error_number);

// FILE_NOT_WRITTEN, of a result that did not get to the disk, with the same
// metadata. `then` follows why.
absl::Status WriteErrno(const std::string& path, std::string_view what,
                        int error_number, std::string_view then = "",
                        ErrorMetadata metadata = {});

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_FILE_ERROR_H_
