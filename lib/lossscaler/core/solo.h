// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of a solo session, as pure functions of values: no lock, clock,
// thread or file.
//
// Rule numbers (R4, R5) are those of the group sessions, of which a solo
// session is the one-voter case. Nothing here changes its arguments: a refused
// request leaves no trace, and an accepted one exists only once the caller has
// stored the result.

#ifndef LOSSSCALER_CORE_SOLO_H_
#define LOSSSCALER_CORE_SOLO_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/check_vote.h"
#include "lossscaler/core/decision.h"

namespace lossscaler {

// Decisions this far back can be asked for again; older ones are
// STEP_FORGOTTEN.
inline constexpr std::int64_t kReplayableDecisions = 1024;

// A session at its start.
SessionState NewSession(std::string_view name, std::string_view uid,
                        const LossScaler& config,
                        std::string_view create_request_id, absl::Time now);

// Where `step` lies (R4). OK: it is the open step, or a decided one that is
// kept. STEP_AHEAD names the open step; STEP_FORGOTTEN the oldest kept one.
// INVALID_FIELD: there is no such step, the first is 1.
absl::Status CheckStep(const SessionState& state, std::int64_t step);

// The state after a decision, and the decision.
struct Decided {
  SessionState state;
  Decision decision;
};

// Decides the open step by a resolved vote (R5, R6).
//
// SCALE_MISMATCH: the vote names a scale that is not the session's.
// RESYNC: it names a base that is not the session's; ABSTAIN may name any.
// The decision keeps the vote as sent, but for whose base it named.
// REQUIRES: vote.resolved is not kUnset.
absl::StatusOr<Decided> Decide(const SessionState& state, const Vote& vote,
                               absl::Time now);

// What a caller that votes on a decided step is told (R4). OK: `decision` is
// its answer, because it contains an equal vote or none at all.
// VOTE_CONFLICT: it was decided by another vote. A vote that stands on another
// session is another vote, whatever else it says.
absl::Status CheckReplay(const SessionState& state, const Decision& decision,
                         const Vote& vote);

// Sets the scaler to `scaler` and ends the open step as ABORTED(RESTORED).
//
// CONFIG_MISMATCH: `scaler` is configured differently from the session.
// EPOCH_MISMATCH: `if_epoch` is not the session's epoch.
absl::StatusOr<Decided> Restore(const SessionState& state,
                                const LossScaler& scaler,
                                std::optional<std::int64_t> if_epoch,
                                std::string_view request_id, absl::Time now);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_SOLO_H_
