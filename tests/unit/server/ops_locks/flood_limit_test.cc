// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/flood_limit.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::server {

void PrintTo(const FloodLimit::Suppressed& one, std::ostream* os) {
  *os << one.count << " of " << one.event << " since " << one.since;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr FloodLimit::Rate kRate = {
    .burst = 3, .per_second = 2, .tell_after = absl::Seconds(10)};
const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

class FloodLimitTest : public ::testing::Test {
 protected:
  bool Admit(absl::Duration at, std::string_view event = "call_failed",
             LogLevel level = LogLevel::kInfo) {
    return limit_.Admit(level, event, kStart + at);
  }
  // Of `calls` lines at once, those that may be written.
  int AdmitMany(int calls, absl::Duration at) {
    int admitted = 0;
    for (int i = 0; i < calls; ++i) admitted += Admit(at) ? 1 : 0;
    return admitted;
  }

  FloodLimit limit_{kRate};
};

TEST_F(FloodLimitTest, TakesABurstAndThenTheRate) {
  EXPECT_EQ(AdmitMany(10, absl::ZeroDuration()), 3);
  EXPECT_EQ(AdmitMany(10, absl::Milliseconds(499)), 0);
  EXPECT_EQ(AdmitMany(10, absl::Milliseconds(500)), 1);
  EXPECT_EQ(AdmitMany(10, absl::Milliseconds(1500)), 2);
}

TEST_F(FloodLimitTest, FillsUpToOneBurstHoweverLongNothingComes) {
  EXPECT_EQ(AdmitMany(10, absl::ZeroDuration()), 3);
  EXPECT_EQ(AdmitMany(10, absl::Hours(1000)), 3);
}

TEST_F(FloodLimitTest, ManyOfOneKindHideNoneOfAnother) {
  AdmitMany(100, absl::ZeroDuration());
  EXPECT_TRUE(Admit(absl::ZeroDuration(), "session_created"));
  EXPECT_TRUE(Admit(absl::ZeroDuration(), "call_failed", LogLevel::kWarning));
}

TEST_F(FloodLimitTest, LeavesOutNoErrorAndNoDebugLine) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Admit(absl::ZeroDuration(), "call_failed", LogLevel::kError));
    EXPECT_TRUE(Admit(absl::ZeroDuration(), "call", LogLevel::kDebug));
  }
  EXPECT_THAT(limit_.TakeAll(), IsEmpty());
}

TEST_F(FloodLimitTest, TellsOnceWhatWasLeftOutWhenItIsOldEnough) {
  AdmitMany(10, absl::Seconds(1));
  AdmitMany(5, absl::Seconds(1.25));
  EXPECT_THAT(limit_.TakeDue(kStart + absl::Seconds(10.75)), IsEmpty());
  EXPECT_THAT(
      limit_.TakeDue(kStart + absl::Seconds(11)),
      ElementsAre(FloodLimit::Suppressed{.level = LogLevel::kInfo,
                                         .event = "call_failed",
                                         .count = 7 + 5,
                                         .since = kStart + absl::Seconds(1)}));
  EXPECT_THAT(limit_.TakeAll(), IsEmpty());
}

TEST_F(FloodLimitTest, TellsAllAtTheEnd) {
  AdmitMany(4, absl::ZeroDuration());
  for (int i = 0; i < 5; ++i) {
    Admit(absl::Seconds(1), "worker_lost", LogLevel::kWarning);
  }
  EXPECT_THAT(
      limit_.TakeAll(),
      ElementsAre(
          FloodLimit::Suppressed{LogLevel::kInfo, "call_failed", 1, kStart},
          FloodLimit::Suppressed{LogLevel::kWarning, "worker_lost", 2,
                                 kStart + absl::Seconds(1)}));
}

TEST_F(FloodLimitTest, WhatIsDueNowLeavesTheYoungerForLater) {
  AdmitMany(4, absl::ZeroDuration());
  for (int i = 0; i < 4; ++i) Admit(absl::Seconds(9), "session_created");
  EXPECT_EQ(limit_.TakeDue(kStart + absl::Seconds(10)).size(), 1u);
  EXPECT_THAT(
      limit_.TakeDue(kStart + absl::Seconds(19)),
      ElementsAre(FloodLimit::Suppressed{LogLevel::kInfo, "session_created", 1,
                                         kStart + absl::Seconds(9)}));
}

TEST_F(FloodLimitTest, AClockThatIsSetBackGivesNothingAndTakesNothing) {
  EXPECT_EQ(AdmitMany(10, absl::Seconds(100)), 3);
  EXPECT_EQ(AdmitMany(10, absl::ZeroDuration()), 0);
  EXPECT_EQ(AdmitMany(10, absl::Milliseconds(500)), 1);
}

TEST(FloodLimitThreads, EveryLineIsWrittenOrCounted) {
  FloodLimit limit(kRate);
  std::atomic<std::int64_t> written = 0;
  std::atomic<std::int64_t> told = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const absl::Time now = kStart + absl::Milliseconds(20 * i);
        if (limit.Admit(LogLevel::kInfo, "call_failed", now)) ++written;
        for (const auto& one : limit.TakeDue(now)) told += one.count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : limit.TakeAll()) told += one.count;
  EXPECT_EQ(written + told, 4000);
  EXPECT_GT(written, 0);
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace lossscaler::server
