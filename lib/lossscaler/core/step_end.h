// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic that every end of a step shares, in solo and group sessions.
// Internal to core.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_STEP_END_H_
#define LOSSSCALER_CORE_STEP_END_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"

namespace lossscaler {

// A decision about the open step that leaves scaler and base alone.
Decision OpenDecision(const SessionState& state, absl::Time now);

// Puts the state behind its open step: counters, base, next number. Returns
// the decision with the totals filled in; epoch_after and the revision are the
// caller's.
Decision MoveBeyond(SessionState* state, Decision decision);

// "hysteresis 2 -> 1, scale 65536 -> 32768 (at the floor)".
std::string ExplainScale(const ScalerUpdate& update);

// SCALE_MISMATCH if the vote names a scale that is not the session's.
absl::Status CheckScale(const SessionState& state, const Vote& vote);

// EPOCH_MISMATCH and CONFIG_MISMATCH.
absl::Status CheckRestore(const SessionState& state, const LossScaler& scaler,
                          std::optional<std::int64_t> if_epoch);
// CONFIG_MISMATCH.
absl::Status CheckSavedScaler(const LossScaler& config,
                              const LossScaler& saved);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_STEP_END_H_
