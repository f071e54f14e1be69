// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a worker is told when the rules refuse it. Internal to core.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_COORDINATOR_ERRORS_H_
#define LOSSSCALER_CORE_COORDINATOR_ERRORS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/group_draft.h"

namespace lossscaler {

absl::Status Fenced(const WorkerRef& worker);

absl::Status WorkerHeld(const Member& member, absl::Duration lease_left);

absl::Status StaleAttempt(std::int64_t attempt, std::int64_t current);

// `first_lease_left`: when a place may be free, if nobody leaves before.
absl::Status TooManyWorkers(std::int64_t workers, std::int64_t limit,
                            absl::Duration first_lease_left);

// RESYNC: the open step builds on `base`, and the vote does not.
absl::Status StandsElsewhere(std::int64_t step, const Base& base,
                             const Vote& vote);

// RESYNC: a step was applied, but not by this worker; `base` contains it.
absl::Status AppliedWithout(std::int64_t step, const Base& base,
                            const Vote& vote);

absl::Status Conflict(std::int64_t step, const Vote& recorded,
                      const Vote& vote);

absl::Status NotActive(std::string_view worker, std::int64_t step);

// SESSION_PAUSED: for want of members.
absl::Status TooFewWorkers(std::int64_t workers, std::int64_t min_workers);

// SESSION_PAUSED: no more; `step` is open.
absl::Status Resumed(std::int64_t step);

// SESSION_PAUSED: until somebody restores it.
absl::Status NeedsRestore();

absl::Status CheckpointMismatch(
    const std::vector<PresentedCheckpoint>& presented);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_COORDINATOR_ERRORS_H_
