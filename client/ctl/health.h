// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_HEALTH_H_
#define LOSSSCALER_CTL_HEALTH_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/options.h"

namespace lossscaler::ctl {

// Whether the server of `options` says it serves (grpc.health.v1, the server
// as a whole). UNAVAILABLE if it does not say so within `wait`;
// INVALID_CREDENTIALS if it must not be asked with those of `options`.
//
// Thread safety: a free function without state.
absl::StatusOr<bool> IsServing(const ClientOptions& options,
                               absl::Duration wait);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_HEALTH_H_
