// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Whether certificates and keys in PEM can be used, before a connection is
// made with them: gRPC reports rubbish like a server that is not there.

#ifndef LOSSSCALER_CLIENT_INTERNAL_PEM_CHECK_H_
#define LOSSSCALER_CLIENT_INTERNAL_PEM_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "lossscaler/client/options.h"

namespace lossscaler::internal {

// INVALID_CREDENTIALS unless every certificate of `tls` can be read, the chain
// has one, and the private key can be read and belongs to the chain's first
// certificate. What is empty is not looked at. No error repeats anything of
// what was given.
//
// Thread safety: a free function without state.
absl::Status CheckPem(const TlsOptions& tls);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_PEM_CHECK_H_
