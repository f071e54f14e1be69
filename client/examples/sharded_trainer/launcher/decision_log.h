// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The decision log of a group, and what must be true of it.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_DECISION_LOG_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_DECISION_LOG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"
#include "sharded_trainer/notes.h"

namespace lossscaler::sharded {

// All decisions of a session, the first one first: as listed.
absl::StatusOr<std::vector<Decision>> ListAll(Connection& connection,
                                              const std::string& session);
// The same, as watched from the first step on.
absl::StatusOr<std::vector<Decision>> WatchAll(Connection& connection,
                                               const std::string& session,
                                               std::int64_t last_step);

// What contradicts one decision per step, or itself; empty: nothing.
//  - Steps rise by one from 1 on.
//  - Each decision begins where the one before it ended: scale, base, epoch.
//  - The scale is what `scaler` makes of the outcomes, up to a restore.
//  - What applies was found finite by all workers of `ranks`, with the
//    decision's scale and base.
//  - Every rank saw what the log says.
std::vector<std::string> Conflicts(
    const std::vector<Decision>& log, LossScaler scaler,
    const std::vector<std::vector<SeenStep>>& seen);

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_DECISION_LOG_H_
