// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Claims: what the demonstration says it shows, and whether it is so.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_CLAIMS_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_CLAIMS_H_

#include <string>

namespace lossscaler::sharded {

class Claims {
 public:
  // Prints the claim, and whether it holds.
  void Check(bool holds, const std::string& claim);

  bool all_hold() const { return all_hold_; }

 private:
  bool all_hold_ = true;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_CLAIMS_H_
