// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What travels between BareVoter and bare_vote_server.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_BARE_VOTE_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_BARE_VOTE_H_

#include <cstdint>

namespace lossscaler::bench {

// A vote, and the decision alike.
struct BareVote {
  std::int64_t step = 0;
  double scale = 0;
  std::int64_t overflow = 0;
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_BARE_VOTE_H_
