// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What becomes of a session whose last decisions may be lost.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_PASS_OVER_LOST_H_
#define LOSSSCALER_CORE_PASS_OVER_LOST_H_

#include <cstdint>

#include "lossscaler/core/decision.h"

namespace lossscaler {

// More decisions, joins and changes of the roster than a store can lose of one
// session: without a sync a journal holds some thousands, and the kernel writes
// back within a minute what nobody has synced.
inline constexpr std::int64_t kLostAtMost = 1'000'000;

// For a store that may have lost decisions which somebody saw (a power loss
// with relaxed durability), before anything is made of the state. `loss` names
// the loss; one that the state has been through already changes nothing.
//
// The next step and epoch, in a group the next incarnation too, lie beyond the
// lost ones, so that none of their numbers is used twice. A group is closed
// until a RestoreSession, or one checkpoint that all its workers present, says
// where it stands.
void PassOverLost(SessionState* state, std::int64_t loss);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_PASS_OVER_LOST_H_
