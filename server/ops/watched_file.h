// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WatchedFile: a small file that an operator may replace while the server runs.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_WATCHED_FILE_H_
#define LOSSSCALER_SERVER_OPS_WATCHED_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::server {

inline constexpr std::size_t kMaxWatchedFileBytes = std::size_t{1} << 20;

struct WatchedFile {
  // The setting that names it, such as "tls_key"; a literal.
  std::string_view setting;
  std::string path;

  std::string text;
  // The bits of its mode that say what everybody may do with it.
  unsigned int others_may = 0;

  friend bool operator==(const WatchedFile&, const WatchedFile&) = default;
};

// Reads a regular file, by way of symbolic links if there are any.
absl::StatusOr<WatchedFile> ReadWatchedFile(std::string_view setting,
                                            const std::string& path);

// Whether nobody but its owner and group may read or change it.
absl::Status CheckClosedToOthers(const WatchedFile& file);

// INVALID_ARGUMENT: the setting and the file (in `line`, unless 0), what is
// wrong with it, and what to do. Nothing of its text belongs into a message.
absl::Status FileError(const WatchedFile& file, std::string_view what,
                       std::size_t line = 0);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_WATCHED_FILE_H_
