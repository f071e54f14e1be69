// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lossscaler::load {

absl::StatusOr<std::int64_t> AllowFiles(std::int64_t files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto wanted = static_cast<rlim_t>(files);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) {
    return static_cast<std::int64_t>(limit.rlim_cur);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "a process may have ", limit.rlim_cur, " files open, and ", files,
      " are needed; raise the hard limit (ulimit -Hn, or LimitNOFILE)"));
}

}  // namespace lossscaler::load
