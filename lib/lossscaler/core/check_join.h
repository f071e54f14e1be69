// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Whether a join makes sense, whatever the roster is. Internal to core.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_CHECK_JOIN_H_
#define LOSSSCALER_CORE_CHECK_JOIN_H_

#include "absl/status/status.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"

namespace lossscaler {

// INVALID_FIELD, REQUEST_ID_REQUIRED, and the errors of CheckCheckpoint().
absl::Status CheckJoin(const SessionState& state, const JoinEvent& event);

// INVALID_FIELD; CONFIG_MISMATCH; STEP_AHEAD if it contains a step that the
// session has not decided, whose number would come again as another one.
absl::Status CheckCheckpoint(const SessionState& state,
                             const Checkpoint& checkpoint);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_CHECK_JOIN_H_
