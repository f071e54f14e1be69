// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// How many files, sockets among them, a process may have open.

#ifndef LOSSSCALER_TESTS_LOAD_FILE_LIMIT_H_
#define LOSSSCALER_TESTS_LOAD_FILE_LIMIT_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace lossscaler::load {

// Raises this process's limit, which those that it starts inherit, to at least
// `files`, and returns what it is now. FAILED_PRECONDITION if the machine does
// not allow that many.
absl::StatusOr<std::int64_t> AllowFiles(std::int64_t files);

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_FILE_LIMIT_H_
