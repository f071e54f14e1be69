// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/random_id.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace lossscaler::internal {

std::string RandomId() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&id, absl::Hex(device(), absl::kZeroPad8));
  }
  return id;
}

}  // namespace lossscaler::internal
