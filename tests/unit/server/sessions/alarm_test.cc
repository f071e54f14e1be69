// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/alarm.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/boot_clock.h"
#include "sessions/random_token.h"

namespace lossscaler::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Ne;

class AlarmTest : public ::testing::Test {
 protected:
  class Named final : public Alarm::Sleeper {
   public:
    Named(std::string name, std::vector<std::string>* rung)
        : name_(std::move(name)), rung_(rung) {}
    void OnAlarm() override { rung_->push_back(name_); }

   private:
    const std::string name_;
    std::vector<std::string>* const rung_;
  };

  std::shared_ptr<Named> Make(std::string name) {
    return std::make_shared<Named>(std::move(name), &rung_);
  }
  void Pass(absl::Duration duration) {
    now_ += duration;
    alarm_.RingDue();
  }

  absl::Time now_ = absl::FromUnixSeconds(100);
  std::vector<std::string> rung_;
  Alarm alarm_{[this] { return now_; }};
  const std::shared_ptr<Named> a_ = Make("a");
  const std::shared_ptr<Named> b_ = Make("b");
};

TEST_F(AlarmTest, RingsOnceWhenItsTimeHasComeEarliestFirst) {
  alarm_.Set(a_, now_ + absl::Seconds(2));
  alarm_.Set(b_, now_ + absl::Seconds(1));
  Pass(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_THAT(rung_, IsEmpty());
  Pass(absl::Nanoseconds(1));
  EXPECT_THAT(rung_, ElementsAre("b"));
  Pass(absl::Hours(1));
  EXPECT_THAT(rung_, ElementsAre("b", "a"));
  Pass(absl::Hours(1));
  EXPECT_THAT(rung_, ElementsAre("b", "a"));
}

TEST_F(AlarmTest, ANewTimeReplacesTheOldOne) {
  alarm_.Set(a_, now_ + absl::Seconds(1));
  alarm_.Set(a_, now_ + absl::Seconds(3));
  alarm_.Set(b_, now_ + absl::Seconds(1));
  alarm_.Set(b_, absl::InfiniteFuture());
  Pass(absl::Seconds(2));
  EXPECT_THAT(rung_, IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(rung_, ElementsAre("a"));
}

TEST_F(AlarmTest, WhatIsGoneIsForgotten) {
  auto gone = Make("gone");
  alarm_.Set(gone, now_ + absl::Seconds(1));
  alarm_.Set(a_, now_ + absl::Seconds(1));
  gone.reset();
  Pass(absl::Seconds(1));
  EXPECT_THAT(rung_, ElementsAre("a"));
}

class Signalled final : public Alarm::Sleeper {
 public:
  void OnAlarm() override {
    MutexLock lock(&mutex_);
    rung_ = true;
    changed_.Signal();
  }
  void Wait() {
    MutexLock lock(&mutex_);
    while (!rung_) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool rung_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(AlarmThread, RingsByItselfAlsoWhatIsSetLaterForSooner) {
  Alarm alarm(BootTime);
  alarm.Start();
  const auto late = std::make_shared<Signalled>();
  const auto soon = std::make_shared<Signalled>();
  alarm.Set(late, BootTime() + absl::Hours(1));
  alarm.Set(soon, BootTime() + absl::Milliseconds(1));
  soon->Wait();
}

TEST(AlarmThread, EndsWithoutRinging) {
  const auto late = std::make_shared<Signalled>();
  Alarm alarm(BootTime);
  alarm.Start();
  alarm.Set(late, BootTime() + absl::Hours(1));
}

TEST(BootTime, DoesNotGoBack) {
  const absl::Time first = BootTime();
  EXPECT_GE(BootTime(), first);
}

TEST(RandomToken, Has128BitsThatAreNeverTheSame) {
  const std::string token = RandomToken();
  EXPECT_THAT(token, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(RandomToken(), Ne(token));
}

}  // namespace
}  // namespace lossscaler::server
