// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/refusal_pace.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "testing/poll_until.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::PollUntil;

constexpr std::chrono::seconds kPacePatience(30);

TEST(RefusalPaceTest, AFewAreGivenAtOnceOnTheCallersThread) {
  RefusalPace pace;
  int given = 0;
  for (int i = 0; i < RefusalPace::kAtOnce; ++i) {
    pace.Refuse([&] { ++given; });
    ASSERT_EQ(given, i + 1);
  }
}

TEST(RefusalPaceTest, OfAFloodEachIsGivenLaterOnceAndInOrder) {
  RefusalPace pace;
  // All of them are due within the longest wait, however long this takes.
  constexpr int kFlood = RefusalPace::kAtOnce + 200;
  std::vector<int> order;
  std::atomic<int> given = 0;
  std::atomic<int> elsewhere = 0;
  Mutex mutex;
  const std::thread::id self = std::this_thread::get_id();
  for (int i = 0; i < kFlood; ++i) {
    pace.Refuse([&, i] {
      if (std::this_thread::get_id() != self) {
        ++elsewhere;
        MutexLock lock(&mutex);
        order.push_back(i);
      }
      ++given;
    });
  }
  EXPECT_TRUE(PollUntil(kPacePatience, [&] { return given == kFlood; }));
  EXPECT_GT(elsewhere, 0);
  MutexLock lock(&mutex);
  for (std::size_t i = 1; i < order.size(); ++i) {
    EXPECT_LT(order[i - 1], order[i]);
  }
}

TEST(RefusalPaceTest, TheEndGivesAllAndThenEachAtOnce) {
  std::atomic<int> given = 0;
  constexpr int kFlood = 1000;
  {
    RefusalPace pace;
    for (int i = 0; i < kFlood; ++i) pace.Refuse([&] { ++given; });
    pace.End();
    const std::thread::id self = std::this_thread::get_id();
    pace.Refuse([&] { EXPECT_EQ(std::this_thread::get_id(), self); });
  }
  EXPECT_EQ(given, kFlood);
}

}  // namespace
}  // namespace lossscaler::server
