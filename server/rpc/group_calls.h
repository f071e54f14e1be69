// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The unary calls of groups and of the journal.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_RPC_GROUP_CALLS_H_
#define LOSSSCALER_SERVER_RPC_GROUP_CALLS_H_

#include "absl/status/status.h"
#include "lossscaler/v1/group.pb.h"
#include "rpc/unary_call.h"
#include "sessions/registry.h"

namespace lossscaler::server {

void JoinSession(Registry* registry, const v1::JoinSessionRequest& request,
                 v1::JoinSessionResponse* response, const Finisher& finish);
void LeaveSession(Registry* registry, const v1::LeaveSessionRequest& request,
                  const Finisher& finish);
absl::Status ListDecisions(Registry* registry,
                           const v1::ListDecisionsRequest& request,
                           v1::ListDecisionsResponse* response);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_GROUP_CALLS_H_
