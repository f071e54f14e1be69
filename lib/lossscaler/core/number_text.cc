// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/number_text.h"

#include <charconv>
#include <string>

namespace lossscaler {

std::string NumberText(double value) {
  char text[32];  // Longer than any shortest float64.
  const std::to_chars_result written =
      std::to_chars(text, text + sizeof(text), value);
  return std::string(text, written.ptr);
}

}  // namespace lossscaler
