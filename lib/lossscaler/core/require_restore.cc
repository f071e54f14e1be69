// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/require_restore.h"

#include <vector>

namespace lossscaler {

void RequireRestore(SessionState* state) {
  GroupState& group = *state->group;
  if (group.restore_required) return;
  group.restore_required = true;
  group.open = false;
  std::erase_if(group.members,
                [](const Member& member) { return !IsLive(member); });
  for (Member& member : group.members) member.state = MemberState::kActive;
  state->step += kLostAtMost;
  state->epoch += kLostAtMost;
  group.next_incarnation += kLostAtMost;
}

}  // namespace lossscaler
