// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Caller: who makes a call, and what they may do.
//
// Thread safety: as an int; free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_CALLER_H_
#define LOSSSCALER_SERVER_OPS_CALLER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ops/method.h"

namespace lossscaler::server {

// Each may do what those before it may.
enum class Role {
  // Reads sessions and decisions.
  kViewer,
  // Trains: creates, restores and joins sessions, scales, unscales, votes.
  kWorker,
  // Deletes sessions, too.
  kAdmin,
};

// "viewer", "worker", "admin".
std::string_view RoleName(Role role);

struct Caller {
  // As logs show it.
  std::string name;
  Role role = Role::kViewer;
  // What the names of its sessions start with. Empty: all sessions.
  std::string sessions;
};

// The least role that may call it.
Role RoleFor(Method method);

// OK, or NOT_ALLOWED. `session` is the session that the call names; for
// ListSessions it is the prefix that is listed; empty for GetServerInfo.
absl::Status CheckAllowed(const Caller& caller, Method method,
                          std::string_view session);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CALLER_H_
