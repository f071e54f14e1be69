// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines of completion queues, on a clock that nobody sets.
//
// Thread safety: a free function without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_QUEUE_DEADLINE_H_
#define LOSSSCALER_CLIENT_INTERNAL_QUEUE_DEADLINE_H_

#include "absl/time/time.h"
#include "grpc/support/time.h"

namespace lossscaler::internal {

inline gpr_timespec After(absl::Duration duration) {
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(absl::ToInt64Nanoseconds(duration), GPR_TIMESPAN));
}

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_QUEUE_DEADLINE_H_
