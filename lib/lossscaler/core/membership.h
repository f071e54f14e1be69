// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Where a worker of a group session stands.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CORE_MEMBERSHIP_H_
#define LOSSSCALER_CORE_MEMBERSHIP_H_

#include "absl/status/status.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"

namespace lossscaler {

// A worker and its session, as of one moment.
struct Membership {
  // kPending or kActive: a worker that has left or is lost is told so by an
  // error.
  MemberState state = MemberState::kPending;
  GroupPhase phase = GroupPhase::kIdle;
  Current current;
  // Why no votes are taken: SESSION_PAUSED, CHECKPOINT_MISMATCH. OK: they are.
  absl::Status closed;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_MEMBERSHIP_H_
