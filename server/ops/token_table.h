// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// TokenTable: who may call, as a token file says it.
//
//   [[token]]
//   name = "vision-trainers"   # unique, as logs show it
//   role = "worker"            # admin, worker or viewer
//   sessions = "vision/"       # optional: how names of its sessions start
//   sha256 = "..."             # of the token, 64 hexadecimal digits
//
// Thread safety: immutable.

#ifndef LOSSSCALER_SERVER_OPS_TOKEN_TABLE_H_
#define LOSSSCALER_SERVER_OPS_TOKEN_TABLE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/caller.h"
#include "ops/watched_file.h"

namespace lossscaler::server {

class TokenTable {
 public:
  // At least one token. Errors name the line, and repeat nothing of the text:
  // somebody may have written a token into it.
  static absl::StatusOr<TokenTable> Parse(const WatchedFile& file);

  // Null if it is nobody's token. Takes as long for every token of this length,
  // whether it is known or not, and however much of its hash fits.
  std::shared_ptr<const Caller> Find(std::string_view token) const;

  std::size_t size() const { return entries_.size(); }

 private:
  using Hash = std::array<unsigned char, 32>;
  struct Entry {
    Hash hash;
    std::shared_ptr<const Caller> caller;
  };

  // nullopt: OpenSSL cannot, for want of memory for example.
  static std::optional<Hash> HashOf(std::string_view token);

  // Reads one [[token]]; declared here for the types it fills in.
  class Reader;

  std::vector<Entry> entries_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_TOKEN_TABLE_H_
