// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What becomes of a group whose last decisions may be lost.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_REQUIRE_RESTORE_H_
#define LOSSSCALER_CORE_REQUIRE_RESTORE_H_

#include <cstdint>

#include "lossscaler/core/decision.h"

namespace lossscaler {

// More decisions, joins and changes of the roster than a store can lose of one
// session: without a sync a journal holds some thousands, and the kernel writes
// back within a minute what nobody has synced.
inline constexpr std::int64_t kLostAtMost = 1'000'000;

// For a store that may have lost decisions which workers saw (a power loss with
// relaxed durability), before a coordinator is made of the state.
//
// Closes the session until a RestoreSession, or one checkpoint that all its
// workers present, says where it stands. Its next step, incarnation and epoch
// lie beyond the lost ones, so that none of their numbers is used twice. A
// session that is closed so already stays as it is.
//
// REQUIRES: state->group.
void RequireRestore(SessionState* state);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_REQUIRE_RESTORE_H_
