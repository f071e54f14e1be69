// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// gRPC's own messages, in our log: event "grpc", with message and place, as
// many as LimitedLog() takes.

#ifndef LOSSSCALER_SERVER_OPS_GRPC_LOG_H_
#define LOSSSCALER_SERVER_OPS_GRPC_LOG_H_

namespace lossscaler::server {

// For the whole process. GRPC_VERBOSITY still says what gRPC writes at all.
void RouteGrpcLog();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_GRPC_LOG_H_
