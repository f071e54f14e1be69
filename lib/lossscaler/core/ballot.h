// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the votes on an open step come to (rules R6, R7 and R8).
//
// Depends on the set of votes and the time, never on the order of arrival.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_BALLOT_H_
#define LOSSSCALER_CORE_BALLOT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"

namespace lossscaler {

// The votes on the open step, by incarnation; each with worker, incarnation
// and resolved set.
struct Ballot {
  std::map<std::int64_t, Vote> votes;
  // When the first one arrived.
  std::optional<absl::Time> first_vote;
};

// How a step ends.
struct Ending {
  Outcome outcome = Outcome::kApply;
  DecisionReason reason = DecisionReason::kFinite;
  // Whether the scaler takes an overflow. Differs from the outcome only with
  // PartPolicy::kEach, where the other parts may apply.
  bool overflow = false;
  // Members that are so no more, for want of a vote.
  std::vector<std::int64_t> evicted;
  // Whether step_timeout ended it.
  bool timed_out = false;
  // Where everyone goes on, if the votes named different iterations.
  std::optional<std::int64_t> next_iteration;
};

// The end of the open step, if it has come. In order of precedence: a recorded
// OVERFLOW, nobody left, every vote in, a lost member, the time.
//
// REQUIRES: group.open.
std::optional<Ending> Conclude(const GroupState& group, const Ballot& ballot,
                               absl::Time now);

// The end of the open step by an event that needs no vote: a recorded OVERFLOW,
// otherwise ABORTED for that reason.
Ending Abandon(const Ballot& ballot, DecisionReason reason);

// Every part that a vote names, by name, with what becomes of it if the step
// ends with that outcome. A vote without parts speaks for every part, and a
// vote that names other parts owns nothing of this one.
std::vector<PartOutcome> PartOutcomes(const Ballot& ballot, Outcome outcome);

// When Conclude() may have another answer although nothing happened.
// InfiniteFuture: never.
absl::Time StepDeadline(const GroupState& group, const Ballot& ballot);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_BALLOT_H_
