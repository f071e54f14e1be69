// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The errors that every store raises while it runs.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_STORE_STORE_ERRORS_H_
#define LOSSSCALER_SERVER_STORE_STORE_ERRORS_H_

#include <string_view>

#include "absl/status/status.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {

// STORE_UNAVAILABLE, to be tried again after a second.
absl::Status StoreUnavailable(std::string_view message,
                              const ErrorMetadata& metadata = {});

// A write that was made against another state than the stored one: nothing was
// written and nothing is wrong with the store. STORE_UNAVAILABLE too: whoever
// asked may ask again.
absl::Status WriteConflict(const SessionState& state);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_STORE_ERRORS_H_
