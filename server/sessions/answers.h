// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a session is asked, and answers.

#ifndef LOSSSCALER_SERVER_SESSIONS_ANSWERS_H_
#define LOSSSCALER_SERVER_SESSIONS_ANSWERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/membership.h"

namespace lossscaler::server {

// A session as it stood at one moment.
struct SessionSnapshot {
  SessionState state;
  std::optional<Decision> last_decision;
  // Of a group session.
  std::optional<GroupPhase> phase;
  // Its workers with their votes and leases, where the snapshot was taken in
  // its turn (Look, Restore); empty otherwise.
  std::vector<MemberView> members;
};

struct UpdateAnswer {
  // In a group without its votes: every worker is told, so that with them an
  // answer to all would grow with the square of the group.
  Decision decision;
  Current current;
};

struct RestoreAnswer {
  Decision decision;
  SessionSnapshot snapshot;
};

// How a join came out.
struct JoinAnswer {
  std::int64_t incarnation = 0;
  std::string resume_token;
  absl::Duration lease_ttl;
  Membership membership;
  // Without its votes.
  std::optional<Decision> last_decision;
  std::string session_uid;
};

// What of the journal to list.
struct DecisionQuery {
  // Only steps below it; unset: all.
  std::optional<std::int64_t> before_step;
  // > 0.
  int limit = 100;
  // Only this step, or steps in which a vote named this iteration.
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> iteration;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_ANSWERS_H_
