// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_EXIT_CODE_H_
#define LOSSSCALER_CTL_EXIT_CODE_H_

namespace lossscaler::ctl {

enum ExitCode {
  kDone = 0,
  // The server refused, or (health) is not serving.
  kRefused = 1,
  kWrongUsage = 2,
  kOutOfReach = 3,
  // `unscale --fail-on-overflow` found a gradient that is not finite.
  kOverflowFound = 4,
};

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_EXIT_CODE_H_
