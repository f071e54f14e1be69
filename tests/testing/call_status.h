// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a call of gRPC returned, with the reason that its details carry.

#ifndef LOSSSCALER_TESTS_TESTING_CALL_STATUS_H_
#define LOSSSCALER_TESTS_TESTING_CALL_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"
#include "lossscaler/wire/status.h"

namespace lossscaler::testing {

inline absl::Status ToAbsl(const grpc::Status& status) {
  return wire::StatusFromWire(status.error_code(), status.error_message(),
                              status.error_details());
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_CALL_STATUS_H_
