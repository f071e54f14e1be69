// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/wire_status.h"

#include "lossscaler/wire/status.h"

namespace lossscaler::internal {

absl::Status FromGrpc(const grpc::Status& status) {
  return wire::StatusFromWire(static_cast<int>(status.error_code()),
                              status.error_message(), status.error_details());
}

}  // namespace lossscaler::internal
