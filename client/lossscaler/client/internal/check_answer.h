// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_CHECK_ANSWER_H_
#define LOSSSCALER_CLIENT_INTERNAL_CHECK_ANSWER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::internal {

// Whether `decision` can be what came of a worker's vote on `step` of session
// `session_uid`. Gradients that were not finite, or that another scale or base
// made, are never applied. MALFORMED_ANSWER otherwise. The decision need not
// list its votes.
//
// Thread safety: a free function without state.
absl::Status CheckAnswer(const Decision& decision, std::string_view session_uid,
                         std::int64_t step, const Vote& vote);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CHECK_ANSWER_H_
