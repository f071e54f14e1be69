// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ReadyFile: tells whoever started the server that it serves, and where.
//
// One bound address per line, with real ports. The file appears whole, once
// everything listens, and goes when the server ends. A killed server leaves it
// behind until the next one replaces it.
//
// Thread safety: immutable.

#ifndef LOSSSCALER_SERVER_OPS_READY_FILE_H_
#define LOSSSCALER_SERVER_OPS_READY_FILE_H_

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace lossscaler::server {

class ReadyFile {
 public:
  // Errors end the process with ExitCode::kConfiguration.
  static absl::StatusOr<std::unique_ptr<ReadyFile>> Write(
      const std::string& path, std::span<const std::string> addresses);

  // Removes the file, unless another server has replaced it.
  ~ReadyFile();
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

 private:
  ReadyFile(std::string path, dev_t device, ino_t inode);

  const std::string path_;
  const dev_t device_;
  const ino_t inode_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_READY_FILE_H_
