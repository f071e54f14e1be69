// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/one_line.h"

#include <cstddef>

#include "absl/strings/ascii.h"

namespace lossscaler::ctl {

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (absl::ascii_iscntrl(byte)) {
      line += ' ';
    } else if (byte == 0xC2 && i + 1 < text.size() &&
               static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
               static_cast<unsigned char>(text[i + 1]) <= 0x9F) {
      line += ' ';
      ++i;
    } else {
      line += text[i];
    }
  }
  return line;
}

}  // namespace lossscaler::ctl
