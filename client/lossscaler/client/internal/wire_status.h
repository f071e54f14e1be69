// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_WIRE_STATUS_H_
#define LOSSSCALER_CLIENT_INTERNAL_WIRE_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace lossscaler::internal {

// The error that the server meant, with its reason if it has one.
//
// Thread safety: a free function without state.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_WIRE_STATUS_H_
