// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/stream_ledger.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsErrorSaying;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::Contains;
using ::testing::Eq;
using ::testing::Pair;

TensorCoverage Part(std::string name, std::int64_t count,
                    std::vector<ElementRange> ranges) {
  return {.name = std::move(name),
          .element_count = count,
          .ranges = std::move(ranges)};
}

class StreamLedgerTest : public ::testing::Test {
 protected:
  void Add(const std::string& id, bool overflow,
           std::vector<TensorCoverage> coverage) {
    ASSERT_THAT(ledger_.Open(id), IsOk());
    ledger_.Finish(id, overflow, std::move(coverage));
  }

  ByteBudget budget_{1 << 20};
  StreamLedger ledger_{&budget_};
};

TEST_F(StreamLedgerTest, OneStreamThatCoversEverythingIsItsVerdict) {
  Add("finite", false, {Part("w", 8, {{0, 8}}), Part("b", 2, {{0, 2}})});
  Add("bad", true, {Part("w", 8, {{0, 8}})});
  EXPECT_THAT(ledger_.Resolve({"finite"}), IsOkAndHolds(Eq(Verdict::kFinite)));
  EXPECT_THAT(ledger_.Resolve({"bad"}), IsOkAndHolds(Eq(Verdict::kOverflow)));
  EXPECT_THAT(ledger_.Resolve({"finite", "bad"}),
              IsOkAndHolds(Eq(Verdict::kOverflow)));
}

TEST_F(StreamLedgerTest, StreamsCoverATensorTogetherInAnyOrder) {
  Add("tail", false, {Part("w", 10, {{7, 3}})});
  Add("ends", false, {Part("w", 10, {{0, 2}, {5, 2}})});
  Add("middle", false, {Part("w", 10, {{2, 4}})});
  EXPECT_THAT(ledger_.Resolve({"tail", "middle", "ends"}),
              IsOkAndHolds(Eq(Verdict::kFinite)));
  EXPECT_THAT(ledger_.Resolve({"tail", "ends"}),
              IsErrorSaying(Reason::kVerdictLost, "\"w\""));
  EXPECT_THAT(ledger_.Resolve({"ends", "middle"}),
              IsError(Reason::kVerdictLost));
  EXPECT_THAT(ledger_.Resolve({"tail", "middle"}),
              IsError(Reason::kVerdictLost));
}

TEST_F(StreamLedgerTest, OneMissingElementIsNotedAtEitherEnd) {
  Add("no first", false, {Part("a", 10, {{1, 9}})});
  Add("no last", false, {Part("a", 10, {{0, 9}})});
  EXPECT_THAT(ledger_.Resolve({"no first"}), IsError(Reason::kVerdictLost));
  EXPECT_THAT(ledger_.Resolve({"no last"}), IsError(Reason::kVerdictLost));
  EXPECT_THAT(ledger_.Resolve({"no first", "no last"}),
              IsOkAndHolds(Eq(Verdict::kFinite)));
}

// An overflow in a part does not stand for the whole: the vote says so itself.
TEST_F(StreamLedgerTest, AnOverflowInAPartIsStillAPart) {
  Add("part", true, {Part("w", 10, {{0, 5}})});
  EXPECT_THAT(ledger_.Resolve({"part"}), IsError(Reason::kVerdictLost));
}

TEST_F(StreamLedgerTest, AnEmptyTensorIsCoveredByNothing) {
  Add("s", false, {Part("empty", 0, {})});
  EXPECT_THAT(ledger_.Resolve({"s"}), IsOkAndHolds(Eq(Verdict::kFinite)));
}

// Two different tensors under one name: the larger would hide that half of the
// smaller was never checked.
TEST_F(StreamLedgerTest, StreamsThatDisagreeAboutATensorStandForNothing) {
  Add("small", false, {Part("w", 10, {{0, 5}})});
  Add("large", false, {Part("w", 20, {{0, 20}})});
  EXPECT_THAT(ledger_.Resolve({"small", "large"}),
              IsErrorSaying(Reason::kVerdictLost, "disagree"));
  EXPECT_THAT(ledger_.Resolve({"large", "small"}),
              IsErrorSaying(Reason::kVerdictLost, "disagree"));
  EXPECT_THAT(ledger_.Resolve({"large"}), IsOkAndHolds(Eq(Verdict::kFinite)));
}

TEST_F(StreamLedgerTest, NoStreamMeansNothingWasChecked) {
  const absl::Status status = ledger_.Resolve({}).status();
  EXPECT_THAT(status, IsError(Reason::kNoGradientsChecked));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("streams", "0")));
}

TEST_F(StreamLedgerTest, AnUnknownOrUnfinishedStreamHasNoVerdict) {
  Add("done", false, {Part("w", 1, {{0, 1}})});
  ASSERT_THAT(ledger_.Open("open"), IsOk());
  EXPECT_THAT(ledger_.Resolve({"done", "open"}),
              IsErrorSaying(Reason::kVerdictLost, "\"open\""));
  EXPECT_THAT(ledger_.Resolve({"done", "other"}),
              IsErrorSaying(Reason::kVerdictLost, "\"other\""));
}

TEST_F(StreamLedgerTest, ALongUnknownIdDoesNotMakeALongError) {
  const absl::Status status =
      ledger_.Resolve({std::string(1'000'000, 'x')}).status();
  EXPECT_THAT(status, IsError(Reason::kVerdictLost));
  EXPECT_LT(status.message().size(), 1000u);
}

TEST_F(StreamLedgerTest, AnIdIsUsedOnce) {
  ASSERT_THAT(ledger_.Open("a"), IsOk());
  EXPECT_THAT(ledger_.Open("a"), IsError(Reason::kStreamIdUsed));
  ledger_.Finish("a", false, {Part("w", 1, {{0, 1}})});
  EXPECT_THAT(ledger_.Open("a"), IsError(Reason::kStreamIdUsed));
  ledger_.Clear();
  EXPECT_THAT(ledger_.Open("a"), IsOk());
}

TEST_F(StreamLedgerTest, AFirstSummaryStands) {
  Add("a", true, {Part("w", 1, {{0, 1}})});
  const std::int64_t taken = budget_.taken();
  ledger_.Finish("a", false, {Part("w", 1, {{0, 1}})});
  EXPECT_THAT(ledger_.Resolve({"a"}), IsOkAndHolds(Eq(Verdict::kOverflow)));
  EXPECT_THAT(budget_.taken(), Eq(taken));
}

TEST_F(StreamLedgerTest, FinishingAnUnknownStreamLeavesNothing) {
  ledger_.Finish("a", false, {Part("w", 1, {{0, 1}})});
  EXPECT_THAT(budget_.taken(), Eq(0));
  EXPECT_THAT(ledger_.Resolve({"a"}), IsError(Reason::kVerdictLost));
}

TEST_F(StreamLedgerTest, AStepHasALimitOfStreams) {
  for (int i = 0; i < StreamLedger::kMaxStreams; ++i) {
    ASSERT_THAT(ledger_.Open(absl::StrCat(i)), IsOk());
  }
  const absl::Status status = ledger_.Open("one more");
  EXPECT_THAT(status, IsError(Reason::kTooManyStreams));
  EXPECT_THAT(MetadataOf(status), Contains(Pair("limit", "1024")));
}

TEST_F(StreamLedgerTest, WhatTheBudgetDoesNotPayForIsLostNotGuessed) {
  ByteBudget small(100);
  StreamLedger ledger(&small);
  ASSERT_THAT(ledger.Open("a"), IsOk());
  ledger.Finish("a", true, {Part(std::string(200, 'n'), 1, {{0, 1}})});
  EXPECT_THAT(ledger.Resolve({"a"}), IsError(Reason::kVerdictLost));
  EXPECT_THAT(small.taken(), Eq(0));
}

TEST_F(StreamLedgerTest, TheBudgetGetsEverythingBack) {
  {
    StreamLedger ledger(&budget_);
    ASSERT_THAT(ledger.Open("a"), IsOk());
    ledger.Finish("a", false, {Part("w", 4, {{0, 1}, {2, 1}})});
    EXPECT_GT(budget_.taken(), 0);
  }
  EXPECT_THAT(budget_.taken(), Eq(0));
}

}  // namespace
}  // namespace lossscaler::server
