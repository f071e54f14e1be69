// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The credentials of a call.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_
#define LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "lossscaler/client/options.h"

namespace lossscaler::internal {

// INVALID_CREDENTIALS if no call must be made with `options`: the token cannot
// be a header or would leave this machine without TLS, a certificate or its key
// is missing, or they cannot be used (pem_check.h). Reads every certificate:
// once is enough for a connection.
absl::Status CheckCredentials(const ClientOptions& options);

// Adds the options' token, if there is one, to a call that has not started.
//
// REQUIRES: CheckCredentials(options).ok().
void AddToken(const ClientOptions& options, grpc::ClientContext* context);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_
