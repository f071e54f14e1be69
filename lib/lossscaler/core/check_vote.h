// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Whether a vote makes sense, whatever the state of its session is.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_CHECK_VOTE_H_
#define LOSSSCALER_CORE_CHECK_VOTE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "lossscaler/core/decision.h"

namespace lossscaler {

// Unscale streams that a step may have, and so a vote may list.
inline constexpr int kMaxStreamsPerStep = 1024;

// In every session; `step` as the call names it.
//
// REQUEST_ID_REQUIRED: it names neither a step nor a request_id.
// INVALID_FIELD: the request_id is malformed; streams are listed beside a
// verdict, twice, or more than kMaxStreamsPerStep; parts are more than
// kMaxParts, have names that are no ids or occur twice, have verdicts other
// than FINITE and OVERFLOW, or contradict the verdict, which is OVERFLOW if one
// of theirs is and otherwise FINITE.
absl::Status CheckVote(std::optional<std::int64_t> step, const Vote& vote);

// In a group. Besides the errors of CheckVote():
//
// STEP_REQUIRED: it names no step.
// INVALID_FIELD: an ABSTAIN names an iteration; another vote names no base, not
// whose it is (unless it is 0), or, but for SKIP, no scale; the iteration is
// out of range.
absl::Status CheckGroupVote(std::optional<std::int64_t> step, const Vote& vote);

// INVALID_FIELD: the vote takes so much room that a message about a whole group
// of `max_workers` could exceed kMaxMessageBytes, since it lists the votes of
// all on the open step and on the last one, with what becomes of every part.
absl::Status CheckVoteSize(const Vote& vote, std::int64_t max_workers);

// An iteration is 0 or more, and has a next one.
absl::Status CheckIteration(std::optional<std::int64_t> iteration);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_CHECK_VOTE_H_
