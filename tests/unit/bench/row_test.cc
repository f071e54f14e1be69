// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/row.h"

#include <optional>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lossscaler::bench {
namespace {

// One round was disturbed, and both were slow in it: the ratio of the medians
// would be 4, that of no round.
TEST(ComparedRow, TakesTheMedianOfTheRatiosOfEachRound) {
  const Row row = ComparedRow("vote", "us", {20, 100, 40}, {10, 50, 10});
  EXPECT_EQ(row.value, 40);
  EXPECT_EQ(row.floor, 10);
  EXPECT_EQ(row.ratio, 2);
  EXPECT_EQ(row.spread, (4.0 - 2.0) / 2.0);
  EXPECT_EQ(row.met(), std::nullopt);
}

TEST(ComparedRow, MeetsItsTargetByTheRatio) {
  EXPECT_EQ(ComparedRow("vote", "us", {12}, {10}, 1.2).met(), true);
  EXPECT_EQ(ComparedRow("vote", "us", {13}, {10}, 1.2).met(), false);
}

TEST(ComparedRow, MayHaveATargetThatIsTheLeast) {
  EXPECT_EQ(ComparedRow("kernel", "GB/s", {9}, {10}, 0.9, Goal::kAtLeast).met(),
            true);
  EXPECT_EQ(ComparedRow("kernel", "GB/s", {8}, {10}, 0.9, Goal::kAtLeast).met(),
            false);
}

TEST(AbsoluteRow, MeetsItsTargetByTheValue) {
  EXPECT_EQ(AbsoluteRow("memory", "KiB", {15, 17, 16}, 16).met(), true);
  EXPECT_EQ(AbsoluteRow("memory", "KiB", {15, 17, 18}, 16).met(), false);
}

TEST(RowsToJson, OnlyARowWithATargetSaysWhetherItIsMet) {
  const nlohmann::json rows = nlohmann::json::parse(
      RowsToJson({ComparedRow("a", "us", {30}, {20}, 1.25),
                  AbsoluteRow("b", "KiB", {5})}));
  EXPECT_EQ(rows, nlohmann::json::parse(R"([
    {"name": "a", "unit": "us", "value": 30.0, "floor": 20.0, "ratio": 1.5,
     "spread": 0.0, "target": 1.25, "met": false},
    {"name": "b", "unit": "KiB", "value": 5.0, "floor": null, "ratio": null,
     "spread": 0.0}])"));
}

TEST(RowsToJson, OnlyARowWhoseProcessorTimeIsKnownHasIt) {
  Row row = AbsoluteRow("a", "GB/s", {5});
  row.cpu = CpuCost{.unit = "ns/byte", .server = 0.25, .client = 0.5};
  const nlohmann::json rows = nlohmann::json::parse(RowsToJson({row}));
  EXPECT_EQ(rows, nlohmann::json::parse(R"([
    {"name": "a", "unit": "GB/s", "value": 5.0, "floor": null, "ratio": null,
     "spread": 0.0, "server_cpu": 0.25, "client_cpu": 0.5,
     "cpu_unit": "ns/byte"}])"));
}

TEST(RowsToJson, NoRowsAreAnEmptyArray) {
  EXPECT_EQ(nlohmann::json::parse(RowsToJson({})), nlohmann::json::array());
}

}  // namespace
}  // namespace lossscaler::bench
