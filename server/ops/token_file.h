// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// TokenFile: says whose token a call carries, by a file that may change while
// the server runs.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_TOKEN_FILE_H_
#define LOSSSCALER_SERVER_OPS_TOKEN_FILE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/caller.h"
#include "ops/reloadable.h"
#include "ops/token_table.h"
#include "ops/watched_file.h"

namespace lossscaler::server {

class TokenFile {
 public:
  // What an authorization header may have in all.
  static constexpr std::size_t kMaxHeaderBytes = 4096;

  // Errors are for the operator: file, line, what is wrong and what to do;
  // nothing of what the file contains.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(
      const std::string& path);

  // Whose token it is: `authorization` is the value of that header, empty if
  // there is none. TOKEN_REQUIRED or TOKEN_UNKNOWN, which repeat nothing of it.
  absl::StatusOr<std::shared_ptr<const Caller>> Identify(
      std::string_view authorization) const;

  // Looks at the file again: see Reloadable.
  std::optional<absl::Status> Refresh() { return table_->Refresh(); }

  // Tokens in force.
  std::size_t size() const { return table_->Get()->size(); }

 private:
  using Table = Reloadable<WatchedFile, TokenTable>;

  explicit TokenFile(std::unique_ptr<Table> table) : table_(std::move(table)) {}

  const std::unique_ptr<Table> table_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_TOKEN_FILE_H_
