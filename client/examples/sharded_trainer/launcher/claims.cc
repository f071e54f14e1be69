// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/launcher/claims.h"

#include <iostream>

namespace lossscaler::sharded {

void Claims::Check(bool holds, const std::string& claim) {
  all_hold_ = all_hold_ && holds;
  std::cout << (holds ? "  holds  " : "  FAILS  ") << claim << std::endl;
}

}  // namespace lossscaler::sharded
