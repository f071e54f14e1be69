// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/decision.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace lossscaler {
namespace {

// A vote need not say which session its base belongs to.
bool SameBase(const Vote& a, const Vote& b) {
  return a.base == b.base &&
         (a.base_session_uid.empty() || b.base_session_uid.empty() ||
          a.base_session_uid == b.base_session_uid);
}

bool SameParts(const Vote& a, const Vote& b) {
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(),
                    b.parts.end(), [](const PartVote& x, const PartVote& y) {
                      return x.name == y.name && x.verdict == y.verdict;
                    });
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnset:
      return "UNSPECIFIED";
    case Verdict::kFinite:
      return "FINITE";
    case Verdict::kOverflow:
      return "OVERFLOW";
    case Verdict::kAbstain:
      return "ABSTAIN";
    case Verdict::kSkip:
      return "SKIP";
  }
  return "UNKNOWN";
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kApply:
      return "APPLY";
    case Outcome::kSkipOverflow:
      return "SKIP_OVERFLOW";
    case Outcome::kSkip:
      return "SKIP";
    case Outcome::kAborted:
      return "ABORTED";
  }
  return "UNKNOWN";
}

std::string_view DecisionReasonName(DecisionReason reason) {
  switch (reason) {
    case DecisionReason::kFinite:
      return "FINITE";
    case DecisionReason::kOverflow:
      return "OVERFLOW";
    case DecisionReason::kVotedSkip:
      return "VOTED_SKIP";
    case DecisionReason::kAllAbstained:
      return "ALL_ABSTAINED";
    case DecisionReason::kRestored:
      return "RESTORED";
    case DecisionReason::kIterationMismatch:
      return "ITERATION_MISMATCH";
    case DecisionReason::kPartsOverflow:
      return "PARTS_OVERFLOW";
    case DecisionReason::kWorkerLost:
      return "WORKER_LOST";
    case DecisionReason::kTimeout:
      return "TIMEOUT";
    case DecisionReason::kNoWorkers:
      return "NO_WORKERS";
    case DecisionReason::kNewAttempt:
      return "NEW_ATTEMPT";
  }
  return "UNKNOWN";
}

bool SameVote(const Vote& a, const Vote& b) {
  return a.verdict == b.verdict && a.stream_ids == b.stream_ids &&
         a.scale_used == b.scale_used && SameBase(a, b) &&
         a.iteration == b.iteration && SameParts(a, b);
}

std::optional<double> Decision::norm() const {
  if (!sum_of_squares) return std::nullopt;
  return std::sqrt(*sum_of_squares);
}

std::optional<double> Decision::clip_coefficient(double limit) const {
  const std::optional<double> total = norm();
  if (!total) return std::nullopt;
  return std::min(1.0, limit / (*total + 1e-6));
}

Decision WithoutVotes(Decision decision) {
  decision.votes.clear();
  return decision;
}

}  // namespace lossscaler
