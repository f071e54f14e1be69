// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/report/table.h"

#include "gtest/gtest.h"

namespace lossscaler::bench {
namespace {

TEST(Figures, HasThreeSignificantOnes) {
  EXPECT_EQ(Figures(1309.4), "1309");
  EXPECT_EQ(Figures(57.26), "57.3");
  EXPECT_EQ(Figures(1.236), "1.24");
  EXPECT_EQ(Figures(0.9312), "0.931");
  EXPECT_EQ(Figures(0), "0.000");
}

TEST(Figures, RoundsUpIntoTheNextSize) {
  EXPECT_EQ(Figures(99.96), "100");
  EXPECT_EQ(Figures(9.999), "10.0");
  EXPECT_EQ(Figures(0.9999), "1.00");
}

TEST(Table, AlignsNumbersRight) {
  Table table({"name", "us"});
  table.Add({"a", "1309"});
  table.Add({"longer", "1.2"});
  EXPECT_EQ(table.ToString(),
            "name      us\n"
            "a       1309\n"
            "longer   1.2\n");
}

TEST(Table, ALineEndsWithItsLastCell) {
  Table table({"name", "us", "met"});
  table.Add({"a", "1", ""});
  EXPECT_EQ(table.ToString(),
            "name  us  met\n"
            "a      1\n");
}

TEST(TableOf, SaysWhetherATargetIsMet) {
  const std::string text =
      TableOf({ComparedRow("a", "us", {30}, {20}, 1.25)}).ToString();
  EXPECT_NE(text.find("1.50"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("NO\n")) << text;
}

// The columns are there for the row that has it; the other leaves them empty.
TEST(TableOf, ShowsProcessorTimeWhereARowHasIt) {
  Row row = AbsoluteRow("a", "GB/s", {5});
  row.cpu = CpuCost{.unit = "ns/byte", .server = 0.25, .client = 0.5};
  const std::string text =
      TableOf({row, AbsoluteRow("b", "MiB", {7})}).ToString();
  EXPECT_NE(text.find("server cpu  client cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("0.250       0.500  ns/byte\n"), std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("0.000\n")) << text;
  EXPECT_EQ(TableOf({AbsoluteRow("b", "MiB", {7})}).ToString().find("cpu"),
            std::string::npos);
}

}  // namespace
}  // namespace lossscaler::bench
