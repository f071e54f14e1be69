// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/bearer_token.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace lossscaler::internal {

std::string WhatIsWrongWithToken(std::string_view token) {
  if (token.empty()) return "is empty";
  if (token.size() > kMaxTokenBytes) {
    return absl::StrCat("has ", token.size(), " bytes, more than ",
                        kMaxTokenBytes);
  }
  const auto* const bad = std::find_if(
      token.begin(), token.end(), [](char c) { return c < '!' || c > '~'; });
  if (bad == token.end()) return "";
  return absl::StrCat("has a blank, a control character or one that is not ",
                      "ASCII as byte ", bad - token.begin() + 1);
}

}  // namespace lossscaler::internal
