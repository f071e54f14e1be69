// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/call_gate.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

TEST(CallGate, CountsCallsUntilTheyLeave) {
  CallGate gate;
  EXPECT_TRUE(gate.Enter());
  EXPECT_TRUE(gate.Enter());
  gate.Leave();
  EXPECT_EQ(gate.open(), 1);
}

TEST(CallGate, ClosedRefusesNewCallsAndKeepsOldOnes) {
  CallGate gate;
  ASSERT_TRUE(gate.Enter());
  gate.Close();
  EXPECT_FALSE(gate.Enter());
  EXPECT_EQ(gate.open(), 1);
}

TEST(CallGate, EmptyGateIsEmptyWithoutWaiting) {
  CallGate gate;
  EXPECT_TRUE(gate.WaitUntilEmpty(absl::ZeroDuration()));
}

TEST(CallGate, GivesUpWhenACallStaysOpen) {
  CallGate gate;
  ASSERT_TRUE(gate.Enter());
  EXPECT_FALSE(gate.WaitUntilEmpty(absl::ZeroDuration()));
  EXPECT_FALSE(gate.WaitUntilEmpty(absl::Milliseconds(1)));
}

TEST(CallGate, WaiterSeesTheLastCallLeave) {
  CallGate gate;
  ASSERT_TRUE(gate.Enter());
  gate.Close();
  std::thread call([&gate] { gate.Leave(); });
  EXPECT_TRUE(gate.WaitUntilEmpty(absl::InfiniteDuration()));
  call.join();
}

TEST(CallGate, StopWaitingEndsAWaitWithoutLimit) {
  CallGate gate;
  ASSERT_TRUE(gate.Enter());
  std::thread impatient([&gate] { gate.StopWaiting(); });
  EXPECT_FALSE(gate.WaitUntilEmpty(absl::InfiniteDuration()));
  impatient.join();
}

// No call that was let in may be missed by the drain: after Close() and an
// empty gate, none runs.
TEST(CallGate, NoCallRunsAfterClosedAndEmpty) {
  CallGate gate;
  std::atomic<int> running{0};
  std::atomic<bool> let_in{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      while (gate.Enter()) {
        running.fetch_add(1);
        let_in = true;
        running.fetch_sub(1);
        gate.Leave();
      }
    });
  }
  while (!let_in) std::this_thread::yield();
  gate.Close();
  EXPECT_TRUE(gate.WaitUntilEmpty(absl::InfiniteDuration()));
  EXPECT_EQ(running.load(), 0);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(gate.open(), 0);
}

}  // namespace
}  // namespace lossscaler::server
