// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the workers of a group session are told about where they stand.

#ifndef LOSSSCALER_SERVER_SESSIONS_MEMBERSHIP_H_
#define LOSSSCALER_SERVER_SESSIONS_MEMBERSHIP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"

namespace lossscaler::server {

// A worker and its session, as of one moment.
struct Membership {
  MemberState state = MemberState::kPending;
  GroupPhase phase = GroupPhase::kIdle;
  Current current;
  // Why no votes are taken: SESSION_PAUSED, CHECKPOINT_MISMATCH. OK: they are.
  absl::Status closed;
};

struct JoinAnswer {
  std::int64_t incarnation = 0;
  std::string resume_token;
  absl::Duration lease_ttl;
  Membership membership;
  std::optional<Decision> last_decision;
  std::string session_uid;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_MEMBERSHIP_H_
