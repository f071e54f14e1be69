// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a command looks up in a session before it acts.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_SESSION_LOOKUP_H_
#define LOSSSCALER_CTL_SESSION_LOOKUP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::ctl {

// GetSession; WRONG_KIND if the session is no group.
absl::StatusOr<SessionInfo> GetGroup(Connection& connection,
                                     const std::string& name);

// The worker of that name that is in: `incarnation`, if it is set, whoever that
// is; NOT_FOUND if it is not and nobody of that name is in.
absl::StatusOr<WorkerRef> FindWorker(const SessionInfo& session,
                                     const std::string& worker,
                                     std::optional<std::int64_t> incarnation);

// The decision of one step. STEP_AHEAD if it has not fallen, STEP_FORGOTTEN if
// the journal does not go back that far.
absl::StatusOr<Decision> FindDecision(Connection& connection,
                                      const SessionInfo& session,
                                      std::int64_t step);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_SESSION_LOOKUP_H_
