// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What goes with a call besides its message: who makes it, and which it is.
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
// is missing, or they cannot be used (pem_check.h); INVALID_FIELD if the call
// id cannot be a header. Reads every certificate: once is enough for a
// connection.
absl::Status CheckCredentials(const ClientOptions& options);

// Adds the options' token and call id, if there are any, to a call that has not
// started.
//
// REQUIRES: CheckCredentials(options).ok().
void AddHeaders(const ClientOptions& options, grpc::ClientContext* context);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_
