// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The unary calls of a training step: ScaleLoss and Update.

#ifndef LOSSSCALER_SERVER_RPC_STEP_CALLS_H_
#define LOSSSCALER_SERVER_RPC_STEP_CALLS_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"
#include "ops/call_gate.h"
#include "rpc/call.h"
#include "sessions/limits.h"
#include "sessions/registry.h"

namespace lossscaler::server {

absl::Status ScaleLoss(Registry* registry, const Limits& limits,
                       const v1::ScaleLossRequest& request,
                       v1::ScaleLossResponse* response);

// One Update call, which waits for the decision in a group. Cancelling it
// leaves the vote. `gate` has counted the call, which has been admitted.
grpc::ServerUnaryReactor* Update(Registry* registry, CallGate* gate,
                                 std::unique_ptr<Call> call,
                                 const v1::UpdateRequest& request,
                                 v1::UpdateResponse* response);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_STEP_CALLS_H_
