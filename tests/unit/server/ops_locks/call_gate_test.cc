// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/call_gate.h"

#include <atomic>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;

TEST(CallGate, CountsCallsUntilTheyLeave) {
  CallGate gate;
  EXPECT_THAT(gate.Enter(), IsOk());
  EXPECT_THAT(gate.Enter(), IsOk());
  gate.Leave();
  EXPECT_EQ(gate.open(), 1);
}

TEST(CallGate, ClosedRefusesNewCallsAndKeepsOldOnes) {
  CallGate gate(Limits{.retry_delay = absl::Seconds(2)});
  ASSERT_THAT(gate.Enter(), IsOk());
  gate.Close();
  const absl::Status refused = gate.Enter();
  EXPECT_THAT(refused, IsError(Reason::kDraining));
  EXPECT_EQ(RetryDelayOf(refused), absl::Seconds(2));
  EXPECT_EQ(gate.open(), 1);
}

TEST(CallGate, CallsOverTheLimitAreAskedToWaitUntilOneLeaves) {
  CallGate gate(Limits{.max_open_calls = 2, .retry_delay = absl::Seconds(2)});
  ASSERT_THAT(gate.Enter(), IsOk());
  ASSERT_THAT(gate.Enter(), IsOk());
  const absl::Status refused = gate.Enter();
  EXPECT_THAT(refused, IsError(Reason::kTooManyCalls));
  EXPECT_EQ(RetryDelayOf(refused), absl::Seconds(2));
  EXPECT_EQ(MetadataOf(refused)["limit"], "2");
  EXPECT_EQ(MetadataOf(refused)["open"], "2");
  EXPECT_EQ(gate.open(), 2);
  gate.Leave();
  EXPECT_THAT(gate.Enter(), IsOk());
  gate.Close();
  EXPECT_THAT(gate.Enter(), IsError(Reason::kDraining));
}

TEST(CallGate, LastingCallsTakeNoPlaceAndAreWaitedFor) {
  CallGate gate(Limits{.max_open_calls = 1});
  ASSERT_THAT(gate.EnterLasting(), IsOk());
  ASSERT_THAT(gate.Enter(), IsOk());
  EXPECT_THAT(gate.Enter(), IsError(Reason::kTooManyCalls));
  gate.BecomeLasting();
  EXPECT_THAT(gate.Enter(), IsOk());
  EXPECT_EQ(gate.open(), 3);
  gate.Leave();
  gate.LeaveLasting();
  gate.Close();
  EXPECT_THAT(gate.EnterLasting(), IsError(Reason::kDraining));
  EXPECT_FALSE(gate.WaitUntilEmpty(absl::ZeroDuration()));
  gate.LeaveLasting();
  EXPECT_TRUE(gate.WaitUntilEmpty(absl::ZeroDuration()));
}

TEST(CallGate, EmptyGateIsEmptyWithoutWaiting) {
  CallGate gate;
  EXPECT_TRUE(gate.WaitUntilEmpty(absl::ZeroDuration()));
}

TEST(CallGate, GivesUpWhenACallStaysOpen) {
  CallGate gate;
  ASSERT_THAT(gate.Enter(), IsOk());
  EXPECT_FALSE(gate.WaitUntilEmpty(absl::ZeroDuration()));
  EXPECT_FALSE(gate.WaitUntilEmpty(absl::Milliseconds(1)));
}

TEST(CallGate, WaiterSeesTheLastCallLeave) {
  CallGate gate;
  ASSERT_THAT(gate.Enter(), IsOk());
  gate.Close();
  std::thread call([&gate] { gate.Leave(); });
  EXPECT_TRUE(gate.WaitUntilEmpty(absl::InfiniteDuration()));
  call.join();
}

TEST(CallGate, StopWaitingEndsAWaitWithoutLimit) {
  CallGate gate;
  ASSERT_THAT(gate.Enter(), IsOk());
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
      while (gate.Enter().ok()) {
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
