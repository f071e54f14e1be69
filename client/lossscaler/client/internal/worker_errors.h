// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a worker is told when no answer can be given, and what to do about it.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_WORKER_ERRORS_H_
#define LOSSSCALER_CLIENT_INTERNAL_WORKER_ERRORS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace lossscaler::internal {

// The caller has ended the membership.
absl::Status WorkerHasLeft();

// The error that ended the membership, with what to do about it if it is
// FENCED, or WORKER_HELD of a worker that wanted its place back.
absl::Status MembershipEnded(const absl::Status& error);

// UNAVAILABLE_BUDGET_SPENT; `error` is the last one.
absl::Status ServerStayedAway(absl::Duration budget, const absl::Status& error);

// LEASE_STALE.
absl::Status ApplyWithheld(std::int64_t step, std::string_view worker,
                           absl::Duration lease_ttl);

// ABORTED: another checkpoint is presented in its place.
absl::Status PresentationReplaced();

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_WORKER_ERRORS_H_
