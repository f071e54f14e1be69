// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_HEALTH_H_
#define LOSSSCALER_CTL_HEALTH_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/options.h"

namespace lossscaler::ctl {

// Whether the server of `options` says it serves (grpc.health.v1, the server
// as a whole). UNAVAILABLE if no server answers within `wait`, which is a
// second at 0; UNIMPLEMENTED if one does that has no health service;
// INVALID_CREDENTIALS if none must be asked with those of `options`; otherwise
// the server's own error, UNAUTHENTICATED for example.
//
// Thread safety: a free function without state.
absl::StatusOr<bool> IsServing(const ClientOptions& options,
                               absl::Duration wait);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_HEALTH_H_
