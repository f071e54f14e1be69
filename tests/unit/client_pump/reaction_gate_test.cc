// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/reaction_gate.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

TEST(ReactionGateTest, LetsManyInUntilItIsClosed) {
  ReactionGate gate;
  {
    const ReactionGate::Pass first(&gate);
    const ReactionGate::Pass second(&gate);
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
  }
  gate.Close();
  EXPECT_FALSE(ReactionGate::Pass(&gate));
}

// What is behind the gate may go as soon as it is closed.
TEST(ReactionGateTest, NobodyIsInsideOnceItIsClosed) {
  for (int round = 0; round < 100; ++round) {
    ReactionGate gate;
    auto behind = std::make_unique<std::vector<int>>(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (;;) {
          const ReactionGate::Pass pass(&gate);
          if (!pass) return;
          ++(*behind)[t];
        }
      });
    }
    gate.Close();
    behind.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace lossscaler::internal
