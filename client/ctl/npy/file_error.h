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

namespace lossscaler::ctl {

// The path as a terminal may show it: escaped if it is not printable UTF-8.
std::string PathText(const std::string& path);

// INVALID_ARGUMENT: the same call fails again.
absl::Status FileError(const std::string& path, std::string_view what);

// The same of a system call that failed: "cannot be opened: No such file".
absl::Status FileErrno(const std::string& path, std::string_view what,
                       int error_number);

// FAILED_PRECONDITION, of a result that did not get to the disk.
absl::Status WriteErrno(const std::string& path, std::string_view what,
                        int error_number);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_FILE_ERROR_H_
