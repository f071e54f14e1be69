// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Votes, decisions and the state of a session, as values.
//
// Comments on the meaning of each field are in proto/lossscaler/v1/
// decision.proto and loss_scaler_service.proto, which mirror these structs.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CORE_DECISION_H_
#define LOSSSCALER_CORE_DECISION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

enum class Verdict { kUnset, kFinite, kOverflow, kAbstain, kSkip };

enum class Outcome { kApply, kSkipOverflow, kSkip, kAborted };

enum class DecisionReason {
  kFinite,
  kOverflow,
  kVotedSkip,
  kAllAbstained,
  kRestored,
  // Group sessions only.
  kIterationMismatch,
  kPartsOverflow,
  kWorkerLost,
  kTimeout,
  kNoWorkers,
  kNewAttempt,
};

// "APPLY" and so on, as in the proto without the prefix.
std::string_view VerdictName(Verdict verdict);
std::string_view OutcomeName(Outcome outcome);
std::string_view DecisionReasonName(DecisionReason reason);

// What a worker says of one part of its gradients (an optimizer, a loss).
struct PartVote {
  std::string name;
  // kFinite or kOverflow.
  Verdict verdict = Verdict::kFinite;
  std::optional<double> sum_of_squares;

  friend bool operator==(const PartVote&, const PartVote&) = default;
};

// What becomes of a part.
struct PartOutcome {
  std::string name;
  bool apply = true;
  // Over all workers; unset if one of them did not say, or it is not applied.
  std::optional<double> sum_of_squares;

  friend bool operator==(const PartOutcome&, const PartOutcome&) = default;
};

// A vote as sent, and what it came to.
struct Vote {
  // Who voted; empty and 0 in a solo session.
  std::string worker;
  std::int64_t incarnation = 0;
  Verdict verdict = Verdict::kUnset;
  std::vector<std::string> stream_ids;
  std::optional<double> scale_used;
  // Which session's step `base` is. Empty: not said; in a decision, the
  // decision's own session.
  std::string base_session_uid;
  std::optional<std::int64_t> base;
  std::optional<std::int64_t> iteration;
  std::optional<double> sum_of_squares;
  std::string request_id;
  // Names are unique.
  std::vector<PartVote> parts;
  // kUnset until the vote is resolved; never kUnset in a decision.
  Verdict resolved = Verdict::kUnset;

  friend bool operator==(const Vote&, const Vote&) = default;
};

// Whether two votes say the same (rule R5): verdict or streams, parts, scale,
// base and iteration as sent; not the sums of squares, which may differ by
// rounding, nor the request id.
bool SameVote(const Vote& a, const Vote& b);

struct Decision {
  std::int64_t step = 0;
  Outcome outcome = Outcome::kApply;
  DecisionReason reason = DecisionReason::kFinite;
  std::string explanation;
  double scale_before = 1.0;
  double scale_after = 1.0;
  std::int64_t base_before = 0;
  std::int64_t base_after = 0;
  // The sessions of the two bases; empty: this one.
  std::string base_before_session_uid;
  std::string base_after_session_uid;
  std::int64_t epoch_after = 1;
  std::int64_t attempted = 0;
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::vector<Vote> votes;
  bool saturated = false;
  bool floored = false;
  bool stalled = false;
  // Whether the scaler took an overflow: always with SKIP_OVERFLOW, and with
  // APPLY where only some parts overflowed.
  bool overflow = false;
  std::vector<PartOutcome> parts;
  // Workers that were lost before they had voted, and those that are members no
  // more because they had not.
  std::vector<std::string> lost;
  std::vector<std::string> evicted;
  // Where every worker goes on, if the votes named different iterations.
  std::optional<std::int64_t> next_iteration;
  // APPLY: over all workers, and the parts that apply; unset if one of them did
  // not say.
  std::optional<double> sum_of_squares;
  // The request that made the decision, if no vote did (a restore).
  std::string request_id;
  absl::Time decide_time = absl::UnixEpoch();

  // Whether the optimizer step applies; otherwise the gradients are dropped.
  bool apply() const { return outcome == Outcome::kApply; }

  // The global norm of the unscaled gradients, if every worker said its share.
  std::optional<double> norm() const;
  // What to multiply unscaled gradients with so that their global norm is at
  // most `limit` (> 0): min(1, limit / (norm + 1e-6)), as PyTorch's
  // torch.nn.utils.clip_grad_norm_ does.
  std::optional<double> clip_coefficient(double limit) const;

  friend bool operator==(const Decision&, const Decision&) = default;
};

// The decision as the workers of a group are told it.
Decision WithoutVotes(Decision decision);

struct Current {
  std::int64_t step = 1;
  double scale = 1.0;
  std::int64_t base = 0;
  // The session of that step; empty: this one.
  std::string base_session_uid;
  std::int64_t epoch = 1;

  friend bool operator==(const Current&, const Current&) = default;
};

// Everything a session keeps between two decisions, except its journal.
struct SessionState {
  std::string name;
  std::string uid;
  // As created. Never changes.
  LossScaler config;
  // Configuration and state now.
  LossScaler scaler;
  // Number of the next decision.
  std::int64_t step = 1;
  // The last APPLY or RESTORED step.
  std::int64_t base = 0;
  // The session of that step: another one after a restore by consensus. Empty:
  // this one.
  std::string base_uid;
  std::int64_t epoch = 1;
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::int64_t consecutive_skips = 0;
  // Rises by one with every write; the store refuses a write that was made
  // against another revision. 0: not written yet.
  std::int64_t revision = 0;
  // The loss of decisions that its numbers lie beyond; see PassOverLost(). 0:
  // none.
  std::int64_t last_loss = 0;
  std::string create_request_id;
  absl::Time create_time = absl::UnixEpoch();
  // Group sessions only.
  std::optional<GroupState> group;

  const std::string& base_session_uid() const {
    return base_uid.empty() ? uid : base_uid;
  }
  std::int64_t attempted() const { return applied + skipped; }
  Current current() const {
    return {step, scaler.scale(), base, base_uid, epoch};
  }

  friend bool operator==(const SessionState&, const SessionState&) = default;
};

// One durable change of a session: its new state, at revision + 1, and the
// decision if it made one.
struct Change {
  SessionState state;
  std::optional<Decision> decision;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_DECISION_H_
