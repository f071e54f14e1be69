// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/progress_meter.h"

#include <cstdint>
#include <functional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/fake_clock.h"

namespace lossscaler::internal {
namespace {

using ::testing::ElementsAre;

class ProgressMeterTest : public ::testing::Test {
 protected:
  std::function<void(const UnscaleProgress&)> Keep() {
    return [this](const UnscaleProgress& progress) {
      EXPECT_EQ(progress.bytes_total, 1'000);
      done_.push_back(progress.bytes_done);
    };
  }

  lossscaler::testing::FakeClock clock_;
  std::vector<std::uint64_t> done_;
  ProgressMeter meter_{Keep(), 1'000, &clock_};
};

TEST_F(ProgressMeterTest, ReportsAtMostTenTimesASecond) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    meter_.Note(1 + i);
    clock_.Advance(absl::Milliseconds(10));
  }
  EXPECT_THAT(done_, ElementsAre(1, 11, 21, 31, 41, 51, 61, 71, 81, 91));
}

TEST_F(ProgressMeterTest, ReportsNothingTwice) {
  meter_.Note(0);
  meter_.Note(5);
  clock_.Advance(absl::Seconds(1));
  meter_.Note(5);
  EXPECT_THAT(done_, ElementsAre(5));
}

// The end is reported when it is known that no error follows.
TEST_F(ProgressMeterTest, ReportsTheEndOnceHoweverSoon) {
  meter_.Note(5);
  meter_.Note(1'000);
  clock_.Advance(absl::Seconds(1));
  meter_.Note(1'000);
  EXPECT_THAT(done_, ElementsAre(5));
  meter_.Finish();
  EXPECT_THAT(done_, ElementsAre(5, 1'000));
}

TEST_F(ProgressMeterTest, NobodyNeedsToListen) {
  ProgressMeter meter(nullptr, 10, &clock_);
  meter.Note(5);
  meter.Finish();
}

}  // namespace
}  // namespace lossscaler::internal
