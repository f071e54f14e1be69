// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/utf8.h"

#include <cstddef>
#include <string_view>

namespace lossscaler::internal {

bool IsUtf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    ++i;
    if (lead < 0x80) continue;
    if (lead < 0xC2 || lead > 0xF4) return false;
    const int followers = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    // Only the first follower's range depends on the lead byte.
    unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (int k = 0; k < followers; ++k, ++i) {
      if (i == text.size()) return false;
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < low || byte > high) return false;
      low = 0x80;
      high = 0xBF;
    }
  }
  return true;
}

}  // namespace lossscaler::internal
