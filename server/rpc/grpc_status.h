// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// absl::Status to grpc::Status, with our error details.

#ifndef LOSSSCALER_SERVER_RPC_GRPC_STATUS_H_
#define LOSSSCALER_SERVER_RPC_GRPC_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"
#include "lossscaler/wire/status.h"

namespace lossscaler::server {

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()),
                      wire::SerializeErrorDetails(status));
}

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_GRPC_STATUS_H_
