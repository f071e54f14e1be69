// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/pass_over_lost.h"

#include <vector>

namespace lossscaler {

void PassOverLost(SessionState* state, std::int64_t loss) {
  if (state->last_loss == loss) return;
  state->last_loss = loss;
  state->step += kLostAtMost;
  state->epoch += kLostAtMost;
  if (!state->group) return;
  GroupState& group = *state->group;
  group.next_incarnation += kLostAtMost;
  group.restore_required = true;
  group.open = false;
  std::erase_if(group.members,
                [](const Member& member) { return !IsLive(member); });
  for (Member& member : group.members) member.state = MemberState::kActive;
}

}  // namespace lossscaler
