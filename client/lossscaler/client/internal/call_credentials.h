// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_
#define LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "lossscaler/client/options.h"

namespace lossscaler::internal {

// Adds the options' token, if there is one, to a call that has not started.
// INVALID_CREDENTIALS, and nothing is added, if the call must not be made: the
// token cannot be a header or would leave this machine without TLS, or a
// certificate or its key is missing.
//
// Thread safety: a free function without state.
absl::Status Authorize(const ClientOptions& options,
                       grpc::ClientContext* context);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CALL_CREDENTIALS_H_
