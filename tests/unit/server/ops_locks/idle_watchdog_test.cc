// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/idle_watchdog.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

constexpr absl::Duration kLimit = absl::Milliseconds(4);

// The watchdog looks at its streams every millisecond, in the order in which
// they came, but time passes only when the test says so.
class IdleWatchdogTest : public ::testing::Test {
 protected:
  void Pass(absl::Duration time) { now_ += absl::ToInt64Nanoseconds(time); }

  static void AwaitMoreThan(const std::atomic<int>& count, int seen) {
    while (count <= seen) std::this_thread::yield();
  }

  static std::function<bool()> CountInto(std::atomic<int>* told, bool ended) {
    return [told, ended] {
      ++*told;
      return ended;
    };
  }

  std::atomic<std::int64_t> now_{0};
  IdleWatchdog watchdog_{
      kLimit, [this] {
        return IdleWatchdog::Clock::time_point(std::chrono::nanoseconds(now_));
      }};
};

TEST_F(IdleWatchdogTest, AStreamIsToldOnceWhenTheLimitHasPassed) {
  std::atomic<int> first{0};
  std::atomic<int> later{0};
  watchdog_.Watch(CountInto(&first, true));
  Pass(kLimit);
  AwaitMoreThan(first, 0);
  watchdog_.Watch(CountInto(&later, true));
  Pass(kLimit);
  AwaitMoreThan(later, 0);
  EXPECT_EQ(first, 1);
}

TEST_F(IdleWatchdogTest, AStreamOnWhichSomethingMovedIsNotTold) {
  std::atomic<int> moving{0};
  std::atomic<int> silent{0};
  const IdleWatchdog::Id id = watchdog_.Watch(CountInto(&moving, true));
  watchdog_.Watch(CountInto(&silent, true));
  Pass(kLimit - absl::Milliseconds(1));
  watchdog_.Touch(id);
  Pass(absl::Milliseconds(1));
  AwaitMoreThan(silent, 0);
  EXPECT_EQ(moving, 0);
  Pass(kLimit);
  AwaitMoreThan(moving, 0);
}

TEST_F(IdleWatchdogTest, AStreamThatIsNotIdleAfterAllIsAskedAgainAfterALimit) {
  std::atomic<int> busy{0};
  std::atomic<int> silent{0};
  watchdog_.Watch(CountInto(&busy, false));
  Pass(absl::Milliseconds(1));
  watchdog_.Watch(CountInto(&silent, true));
  Pass(kLimit - absl::Milliseconds(1));
  AwaitMoreThan(busy, 0);
  Pass(absl::Milliseconds(1));
  AwaitMoreThan(silent, 0);
  EXPECT_EQ(busy, 1);
  Pass(kLimit - absl::Milliseconds(1));
  AwaitMoreThan(busy, 1);
}

TEST_F(IdleWatchdogTest, AForgottenStreamIsNotTold) {
  std::atomic<int> forgotten{0};
  std::atomic<int> silent{0};
  const IdleWatchdog::Id id = watchdog_.Watch(CountInto(&forgotten, true));
  watchdog_.Watch(CountInto(&silent, true));
  watchdog_.Forget(id);
  Pass(kLimit);
  AwaitMoreThan(silent, 0);
  EXPECT_EQ(forgotten, 0);
}

// A call that ends frees what `on_idle` uses as soon as Forget() returns.
TEST_F(IdleWatchdogTest, ForgetWaitsForOneThatIsBeingTold) {
  std::atomic<bool> telling{false};
  std::atomic<bool> go_on{false};
  std::atomic<bool> told{false};
  const IdleWatchdog::Id id = watchdog_.Watch([&] {
    telling = true;
    while (!go_on) std::this_thread::yield();
    told = true;
    return true;
  });
  Pass(kLimit);
  while (!telling) std::this_thread::yield();
  std::atomic<bool> told_before_forget_returned{false};
  std::thread call([&] {
    watchdog_.Forget(id);
    told_before_forget_returned = told.load();
  });
  go_on = true;
  call.join();
  EXPECT_TRUE(told_before_forget_returned);
}

TEST_F(IdleWatchdogTest, StreamsComeAndGoWhileOthersAreTold) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> calls;
  std::atomic<int> ended_early{0};
  for (int i = 0; i < 4; ++i) {
    calls.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        bool alive = true;  // Not atomic: Forget() has to order the accesses.
        const IdleWatchdog::Id id = watchdog_.Watch([&alive, &ended_early] {
          if (!alive) ++ended_early;
          return true;
        });
        watchdog_.Touch(id);
        watchdog_.Forget(id);
        alive = false;
      }
    });
  }
  std::thread time([&] {
    while (!stop) Pass(kLimit);
  });
  for (std::thread& call : calls) call.join();
  stop = true;
  time.join();
  EXPECT_EQ(ended_early, 0);
}

TEST(IdleWatchdog, AWatchdogWithoutLimitEndsAtOnce) {
  IdleWatchdog watchdog(absl::InfiniteDuration());
  watchdog.Watch([] { return true; });
}

}  // namespace
}  // namespace lossscaler::server
