// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The calls about sessions as a whole, and about the server.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_RPC_SESSION_CALLS_H_
#define LOSSSCALER_SERVER_RPC_SESSION_CALLS_H_

#include "lossscaler/v1/loss_scaler_service.pb.h"
#include "rpc/service.h"
#include "rpc/unary_call.h"

namespace lossscaler::server {

void CreateSession(Registry* registry, const v1::CreateSessionRequest& request,
                   v1::CreateSessionResponse* response, const Finisher& finish);
void GetSession(Registry* registry, const v1::GetSessionRequest& request,
                v1::GetSessionResponse* response, const Finisher& finish);
absl::Status ListSessions(const Registry& registry,
                          const v1::ListSessionsRequest& request,
                          v1::ListSessionsResponse* response);
void DeleteSession(Registry* registry, const v1::DeleteSessionRequest& request,
                   const Finisher& finish);
void RestoreSession(Registry* registry,
                    const v1::RestoreSessionRequest& request,
                    v1::RestoreSessionResponse* response,
                    const Finisher& finish);
void GetServerInfo(const ServiceDependencies& server,
                   v1::GetServerInfoResponse* response);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_SESSION_CALLS_H_
