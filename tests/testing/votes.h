// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Votes and scalers that tests of sessions have in common.

#ifndef LOSSSCALER_TESTS_TESTING_VOTES_H_
#define LOSSSCALER_TESTS_TESTING_VOTES_H_

#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler::testing {

// A vote as a caller sends it, with its verdict resolved.
inline Vote VoteOf(Verdict verdict) {
  Vote vote;
  vote.verdict = verdict;
  vote.resolved = verdict;
  return vote;
}

// The scaler of policy-golden.json: 65536, doubled after three clean steps,
// halved by every overflow.
inline LossScaler GoldenScaler() {
  return *LossScaler::Dynamic(65536.0, 2.0, 3);
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_VOTES_H_
