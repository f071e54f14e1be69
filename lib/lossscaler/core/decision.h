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
};

// "APPLY" and so on, as in the proto without the prefix.
std::string_view VerdictName(Verdict verdict);
std::string_view OutcomeName(Outcome outcome);
std::string_view DecisionReasonName(DecisionReason reason);

// A vote as sent, and what it came to.
struct Vote {
  Verdict verdict = Verdict::kUnset;
  std::vector<std::string> stream_ids;
  std::optional<double> scale_used;
  // Which session's step `base` is; empty: not said. Not kept in a decision.
  std::string base_session_uid;
  std::optional<std::int64_t> base;
  std::optional<std::int64_t> iteration;
  std::optional<double> sum_of_squares;
  std::string request_id;
  // kUnset until the vote is resolved; never kUnset in a decision.
  Verdict resolved = Verdict::kUnset;

  friend bool operator==(const Vote&, const Vote&) = default;
};

// Whether two votes say the same (rule R5): verdict or streams, scale, base
// and iteration as sent; not the sum of squares, which may differ by rounding,
// nor the request id.
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
  std::int64_t epoch_after = 1;
  std::int64_t attempted = 0;
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::vector<Vote> votes;
  bool saturated = false;
  bool floored = false;
  bool stalled = false;
  // The request that made the decision, if no vote did (a restore).
  std::string request_id;
  absl::Time decide_time = absl::UnixEpoch();

  // Whether the optimizer step applies; otherwise the gradients are dropped.
  bool apply() const { return outcome == Outcome::kApply; }

  friend bool operator==(const Decision&, const Decision&) = default;
};

struct Current {
  std::int64_t step = 1;
  double scale = 1.0;
  std::int64_t base = 0;
  std::int64_t epoch = 1;

  friend bool operator==(const Current&, const Current&) = default;
};

// Everything a solo session keeps between two decisions, except its journal.
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
  std::int64_t epoch = 1;
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::int64_t consecutive_skips = 0;
  // Rises by one with every write; the store refuses a write that was made
  // against another revision. 0: not written yet.
  std::int64_t revision = 0;
  std::string create_request_id;
  absl::Time create_time = absl::UnixEpoch();

  std::int64_t attempted() const { return applied + skipped; }
  Current current() const { return {step, scaler.scale(), base, epoch}; }

  friend bool operator==(const SessionState&, const SessionState&) = default;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_DECISION_H_
