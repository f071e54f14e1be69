// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/reloadable.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using lossscaler::testing::HasCode;
using lossscaler::testing::IsOk;
using ::testing::Eq;
using ::testing::Not;
using ::testing::Optional;

using Number = Reloadable<std::string, int>;

absl::StatusOr<int> ToNumber(const std::string& text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError("no number");
}

class ReloadableTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> file_ = "1";
  std::unique_ptr<Number> number_ =
      *Number::Open([this] { return file_; }, ToNumber);
};

TEST_F(ReloadableTest, WhatCannotBeReadOrIsBadDoesNotOpen) {
  const absl::Status away = absl::NotFoundError("away");
  EXPECT_EQ(Number::Open([&] { return away; }, ToNumber).status(), away);
  EXPECT_THAT(Number::Open([] { return std::string("x"); }, ToNumber),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(ReloadableTest, NothingNewIsNoNews) {
  EXPECT_EQ(number_->Refresh(), std::nullopt);
  EXPECT_EQ(*number_->Get(), 1);
}

TEST_F(ReloadableTest, AGoodChangeComesIntoForceAndIsToldOnce) {
  const auto before = number_->Get();
  file_ = "2";
  EXPECT_THAT(number_->Refresh(), Optional(IsOk()));
  EXPECT_EQ(*number_->Get(), 2);
  EXPECT_EQ(*before, 1);
  EXPECT_EQ(number_->Refresh(), std::nullopt);
}

TEST_F(ReloadableTest, ABadChangeIsToldOnceForEachContentAndChangesNothing) {
  for (const std::string bad : {"x", "y", "x"}) {
    file_ = bad;
    EXPECT_THAT(number_->Refresh(),
                Optional(HasCode(absl::StatusCode::kInvalidArgument)));
    EXPECT_EQ(number_->Refresh(), std::nullopt);
    EXPECT_EQ(*number_->Get(), 1);
  }
}

TEST_F(ReloadableTest, AFileThatGoesAwayIsToldOnceForEachReason) {
  for (const absl::Status& error :
       {absl::NotFoundError("away"), absl::PermissionDeniedError("closed")}) {
    file_ = error;
    EXPECT_THAT(number_->Refresh(), Optional(Eq(error)));
    EXPECT_EQ(number_->Refresh(), std::nullopt);
    EXPECT_EQ(*number_->Get(), 1);
  }
}

TEST_F(ReloadableTest, ItIsToldThatTheFileIsAgainWhatItWas) {
  file_ = "x";
  EXPECT_THAT(number_->Refresh(), Optional(Not(IsOk())));
  file_ = "1";
  EXPECT_THAT(number_->Refresh(), Optional(IsOk()));
  EXPECT_EQ(number_->Refresh(), std::nullopt);
}

// A certificate that was not valid yet, for example.
TEST(Reloadable, WhatWasBadMayBecomeGoodByItself) {
  bool valid = true;
  std::string file = "1";
  const auto number = *Number::Open(
      [&] { return file; },
      [&](const std::string& text) {
        return valid ? ToNumber(text) : absl::UnavailableError("not yet");
      });
  file = "2";
  valid = false;
  EXPECT_THAT(number->Refresh(),
              Optional(HasCode(absl::StatusCode::kUnavailable)));
  EXPECT_EQ(number->Refresh(), std::nullopt);
  valid = true;
  EXPECT_THAT(number->Refresh(), Optional(IsOk()));
  EXPECT_EQ(*number->Get(), 2);
}

TEST(Reloadable, ReadersSeeOneValueOrTheNextWhileItChanges) {
  constexpr int kChanges = 500;
  Mutex mutex;
  int now = 0;
  const auto number = *Number::Open(
      [&] {
        MutexLock lock(&mutex);
        return std::to_string(now);
      },
      ToNumber);
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (int last = 0; last < kChanges;) {
        const int seen = *number->Get();
        ASSERT_GE(seen, last);
        last = seen;
      }
    });
  }
  for (int change = 0; change < kChanges; ++change) {
    {
      MutexLock lock(&mutex);
      ++now;
    }
    EXPECT_THAT(number->Refresh(), Optional(IsOk()));
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace lossscaler::server
