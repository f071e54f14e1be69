// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/histogram.h"

#include <cmath>

#include "gtest/gtest.h"

namespace lossscaler::load {
namespace {

// What is kept of a duration: the power of 2^(1/16) microseconds above it.
double RoundedUp(double microseconds) {
  return std::exp2(std::ceil(std::log2(microseconds) * 16) / 16);
}

TEST(HistogramTest, NothingTookNoTime) {
  EXPECT_EQ(Histogram().Percentile(0.99), absl::ZeroDuration());
}

TEST(HistogramTest, PercentilesAreTheNearestRankRoundedUp) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.Add(absl::Microseconds(i));
  EXPECT_EQ(histogram.count(), 100);
  EXPECT_NEAR(absl::ToDoubleMicroseconds(histogram.Percentile(0.5)),
              RoundedUp(50), 0.001);
  EXPECT_NEAR(absl::ToDoubleMicroseconds(histogram.Percentile(0.99)),
              RoundedUp(99), 0.001);
  EXPECT_NEAR(absl::ToDoubleMicroseconds(histogram.Percentile(1)),
              RoundedUp(100), 0.001);
}

TEST(HistogramTest, TimesBelowAMicrosecondCountAsOne) {
  Histogram histogram;
  histogram.Add(absl::Nanoseconds(3));
  EXPECT_EQ(histogram.Percentile(1), absl::Microseconds(1));
}

TEST(HistogramTest, AddingAnotherIsAddingItsTimes) {
  Histogram one;
  one.Add(absl::Microseconds(64));
  Histogram other;
  other.Add(absl::Microseconds(1024));
  one.Add(other);
  EXPECT_EQ(one.count(), 2);
  EXPECT_EQ(one.Percentile(0.5), absl::Microseconds(64));
  EXPECT_EQ(one.Percentile(1), absl::Microseconds(1024));
}

}  // namespace
}  // namespace lossscaler::load
