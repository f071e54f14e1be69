// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_CHECK_ANSWER_H_
#define LOSSSCALER_CLIENT_INTERNAL_CHECK_ANSWER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::internal {

// Whether `decision` can be what came of a worker's vote on `step`. Gradients
// that were not finite, or that another scale or base made, are never applied.
// MALFORMED_ANSWER otherwise.
//
// Thread safety: a free function without state.
absl::Status CheckAnswer(const Decision& decision, std::int64_t step,
                         const Vote& vote);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CHECK_ANSWER_H_
