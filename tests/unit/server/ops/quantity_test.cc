// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/quantity.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

using ::testing::Eq;
using ::testing::Optional;

TEST(ParseDuration, TakesNumbersWithUnits) {
  EXPECT_THAT(ParseDuration("20s"), Optional(absl::Seconds(20)));
  EXPECT_THAT(ParseDuration("1m30s"), Optional(absl::Seconds(90)));
  EXPECT_THAT(ParseDuration("500ms"), Optional(absl::Milliseconds(500)));
  EXPECT_THAT(ParseDuration("0s"), Optional(absl::ZeroDuration()));
}

TEST(ParseDuration, RefusesEverythingElse) {
  for (const char* text : {"", "20", "0", "-1s", "+1s", "inf", "s", "20 s",
                           "20d", "1e99h", "20s "}) {
    EXPECT_THAT(ParseDuration(text), Eq(std::nullopt)) << text;
  }
}

TEST(ParseBytes, TakesWholeNumbersWithUnits) {
  EXPECT_THAT(ParseBytes("0B"), Optional(0));
  EXPECT_THAT(ParseBytes("3KiB"), Optional(3072));
  EXPECT_THAT(ParseBytes("256MiB"), Optional(268435456));
  EXPECT_THAT(ParseBytes("1GiB"), Optional(1073741824));
  EXPECT_THAT(ParseBytes("1TiB"), Optional(1099511627776));
}

TEST(ParseBytes, RefusesEverythingElse) {
  // 8388608 TiB is 2^63.
  for (const char* text :
       {"", "256", "MiB", "1.5MiB", "-1B", "256 MiB", "256MB", "8388608TiB"}) {
    EXPECT_THAT(ParseBytes(text), Eq(std::nullopt)) << text;
  }
}

TEST(ParseInteger, TakesWholeNumbersOnly) {
  EXPECT_THAT(ParseInteger("-3"), Optional(-3));
  for (const char* text :
       {"", "1.0", "1e3", "0x10", " 1", "9223372036854775808"}) {
    EXPECT_THAT(ParseInteger(text), Eq(std::nullopt)) << text;
  }
}

TEST(FormatBytes, UsesTheLargestUnitThatDivides) {
  EXPECT_EQ(FormatBytes(0), "0B");
  EXPECT_EQ(FormatBytes(1000), "1000B");
  EXPECT_EQ(FormatBytes(1536 * 1024), "1536KiB");
  EXPECT_EQ(FormatBytes(268435456), "256MiB");
}

}  // namespace
}  // namespace lossscaler::server
