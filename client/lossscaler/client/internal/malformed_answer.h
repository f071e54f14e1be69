// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_MALFORMED_ANSWER_H_
#define LOSSSCALER_CLIENT_INTERNAL_MALFORMED_ANSWER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {

// MALFORMED_ANSWER: the server's answer to `method` breaks the contract.
//
// Thread safety: free functions without state.
absl::Status MalformedAnswer(std::string_view method, const std::string& what,
                             const ErrorMetadata& metadata = {});
absl::Status MalformedAnswer(std::string_view method, const absl::Status& why);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_MALFORMED_ANSWER_H_
