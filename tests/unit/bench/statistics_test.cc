// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/statistics.h"

#include <vector>

#include "gtest/gtest.h"

namespace lossscaler::bench {
namespace {

TEST(Percentile, IsTheNearestRank) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_EQ(Percentile(values, 0.25), 10);
  EXPECT_EQ(Percentile(values, 0.26), 20);
  EXPECT_EQ(Percentile(values, 0.5), 20);
  EXPECT_EQ(Percentile(values, 0.99), 40);
  EXPECT_EQ(Percentile(values, 1), 40);
}

TEST(Percentile, OfOneValueIsThatValue) {
  EXPECT_EQ(Percentile({7}, 0.01), 7);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
}

TEST(Median, OfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({9, 1, 5, 7}), 6);
}

TEST(Spread, IsTheRangeInMedians) {
  EXPECT_EQ(Spread({8, 12, 10}), 0.4);
  EXPECT_EQ(Spread({5}), 0);
}

TEST(Spread, OfAMedianOfZeroIsTheRange) {
  EXPECT_EQ(Spread({0, 0, 0}), 0);
  EXPECT_EQ(Spread({-1, 0, 2}), 3);
}

TEST(Ratios, AreTakenRoundByRound) {
  EXPECT_EQ(Ratios({10, 30}, {5, 10}), (std::vector<double>{2, 3}));
}

}  // namespace
}  // namespace lossscaler::bench
