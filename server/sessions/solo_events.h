// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What events do to a solo session: the rules of lossscaler/core/solo.h, with
// the answers of steps that are decided.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_SESSIONS_SOLO_EVENTS_H_
#define LOSSSCALER_SERVER_SESSIONS_SOLO_EVENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "sessions/answers.h"
#include "sessions/decision_log.h"
#include "sessions/turn.h"

namespace lossscaler::server {

// Finds what the streams of a vote come to.
using Resolve = std::function<absl::StatusOr<Verdict>(const Vote&)>;

// `step` unset: the step that the vote's request_id decided, else the open one.
Reaction ReactToSoloUpdate(const State& state, const DecisionLog& log,
                           std::optional<std::int64_t> step, Vote vote,
                           const Resolve& resolve, absl::Time now,
                           const Done<UpdateAnswer>& done);

Reaction ReactToSoloRestore(const State& state, const DecisionLog& log,
                            const LossScaler& scaler,
                            std::optional<std::int64_t> if_epoch,
                            const std::string& request_id, absl::Time now,
                            const Done<RestoreAnswer>& done);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_SOLO_EVENTS_H_
