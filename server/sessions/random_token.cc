// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/random_token.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"

namespace lossscaler::server {

std::string RandomToken() {
  std::array<char, 16> bits;
  // So few bytes come whole or not at all.
  while (getrandom(bits.data(), bits.size(), 0) !=
         static_cast<ssize_t>(bits.size())) {
    if (errno == EINTR) continue;
    // A guessable token would let anyone take a worker's place.
    std::abort();
  }
  return absl::BytesToHexString({bits.data(), bits.size()});
}

}  // namespace lossscaler::server
