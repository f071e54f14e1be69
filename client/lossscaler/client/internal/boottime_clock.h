// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_BOOTTIME_CLOCK_H_
#define LOSSSCALER_CLIENT_INTERNAL_BOOTTIME_CLOCK_H_

#include "lossscaler/client/options.h"

namespace lossscaler::internal {

// The machine's time since boot, suspension included (CLOCK_BOOTTIME). The
// origin means nothing; only differences do.
//
// Thread safety: any thread, at any time.
class BoottimeClock : public Clock {
 public:
  absl::Time Now() override;
  void Sleep(absl::Duration duration) override;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_BOOTTIME_CLOCK_H_
