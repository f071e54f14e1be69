// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/rounds.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::bench {
namespace {

using Contestants = std::vector<std::function<absl::StatusOr<int>()>>;

TEST(Interleave, MeasuresEveryContestantInEveryRoundInTurn) {
  std::string order;
  const auto contestant = [&order](char name, int base) {
    return [&order, name, value = base]() mutable -> absl::StatusOr<int> {
      order += name;
      return value++;
    };
  };
  const auto results =
      Interleave(3, Contestants{contestant('a', 10), contestant('b', 20)});
  EXPECT_EQ(order, "ababab");
  ASSERT_TRUE(results.ok());
  EXPECT_THAT(*results,
              ::testing::ElementsAre(::testing::ElementsAre(10, 11, 12),
                                     ::testing::ElementsAre(20, 21, 22)));
}

TEST(Interleave, EndsWithTheFirstError) {
  int measured = 0;
  const auto results = Interleave(3, Contestants{[&]() -> absl::StatusOr<int> {
                                    if (++measured == 2)
                                      return absl::UnavailableError("gone");
                                    return 1;
                                  }});
  EXPECT_EQ(results.status(), absl::UnavailableError("gone"));
  EXPECT_EQ(measured, 2);
}

}  // namespace
}  // namespace lossscaler::bench
