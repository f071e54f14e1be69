// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_HEALTH_H_
#define LOSSSCALER_CTL_HEALTH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lossscaler::ctl {

// Whether the server at `address` says it serves (grpc.health.v1, the server
// as a whole). UNAVAILABLE if nobody answers within `wait`.
//
// Thread safety: a free function without state.
absl::StatusOr<bool> IsServing(const std::string& address, absl::Duration wait);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_HEALTH_H_
