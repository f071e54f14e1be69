// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/retry_loop.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::FakeClock;
using lossscaler::testing::HasCode;
using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Idempotency kIdempotent = Idempotency::kIdempotent;

class RetryLoopTest : public ::testing::Test {
 protected:
  RetryLoopTest() {
    options_.initial_backoff = absl::Milliseconds(100);
    options_.max_backoff = absl::Milliseconds(350);
    options_.backoff_multiplier = 2;
    options_.unavailable_budget = absl::Seconds(60);
    options_.unary_deadline = absl::Seconds(10);
  }

  // `random` is where in [0, 1) every draw falls.
  RetryLoop Loop(double random = 0.5) {
    return RetryLoop("Update", options_, &clock_, [random] { return random; });
  }

  static absl::Status Lost() { return absl::UnavailableError("lost"); }

  ClientOptions options_;
  FakeClock clock_;
};

TEST_F(RetryLoopTest, TransientThenSuccess) {
  RetryLoop loop = Loop();
  EXPECT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  EXPECT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
}

TEST_F(RetryLoopTest, BackoffGrowsWithinBounds) {
  RetryLoop loop = Loop(/*random=*/0.5);
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  }
  // Half of 100, 200, 350 (not 400) and 350 ms.
  EXPECT_THAT(clock_.sleeps(),
              ElementsAre(absl::Milliseconds(50), absl::Milliseconds(100),
                          absl::Milliseconds(175), absl::Milliseconds(175)));
}

TEST_F(RetryLoopTest, JitterReachesDownToNoPause) {
  RetryLoop loop = Loop(/*random=*/0);
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  EXPECT_THAT(clock_.sleeps(), IsEmpty());
}

TEST_F(RetryLoopTest, UsesRetryInfoAsLowerBound) {
  RetryLoop loop = Loop();
  ASSERT_THAT(loop.WaitAfter(MakeRetryableError(Reason::kTooManyStreams, "full",
                                                absl::Seconds(3)),
                             kIdempotent),
              IsOk());
  ASSERT_THAT(loop.WaitAfter(MakeRetryableError(Reason::kDraining, "going",
                                                absl::Milliseconds(1)),
                             kIdempotent),
              IsOk());
  EXPECT_THAT(clock_.sleeps(),
              ElementsAre(absl::Seconds(3), absl::Milliseconds(100)));
}

// The last attempt gets little time, too little to hear why.
TEST_F(RetryLoopTest, ADeadlineDoesNotHideWhyThereIsNoConnection) {
  RetryLoop loop = Loop();
  ASSERT_THAT(
      loop.WaitAfter(absl::UnavailableError("bad certificate"), kIdempotent),
      IsOk());
  clock_.Advance(absl::Seconds(60));
  const absl::Status status =
      loop.WaitAfter(absl::DeadlineExceededError("too late"), kIdempotent);
  EXPECT_THAT(status, IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Last error: DEADLINE_EXCEEDED: too late; before it: "
                        "UNAVAILABLE: bad certificate"));
  EXPECT_EQ(MetadataOf(status).at("code_before"), "UNAVAILABLE");
}

TEST_F(RetryLoopTest, PermanentFailureIsNotRetried) {
  RetryLoop loop = Loop();
  const absl::Status status = loop.WaitAfter(
      MakeError(Reason::kResync, "base 3, expected 4", {{"expected", "4"}}),
      kIdempotent);
  EXPECT_THAT(status, IsError(Reason::kResync));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("Update"), HasSubstr("1 attempt"),
                    HasSubstr("permanent"), HasSubstr("base 3, expected 4")));
  EXPECT_EQ(MetadataOf(status).at("expected"), "4");
  EXPECT_THAT(clock_.sleeps(), IsEmpty());
}

TEST_F(RetryLoopTest, KeepsReasonsThatThisVersionDoesNotKnow) {
  RetryLoop loop = Loop();
  const absl::Status status = loop.WaitAfter(
      MakeErrorFromParts(absl::StatusCode::kFailedPrecondition, "new rule",
                         "SOME_NEW_REASON", {}, std::nullopt),
      kIdempotent);
  EXPECT_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(ReasonNameOf(status), "SOME_NEW_REASON");
}

TEST_F(RetryLoopTest, IdempotentDeadlineIsRetried) {
  RetryLoop loop = Loop();
  EXPECT_THAT(loop.WaitAfter(absl::DeadlineExceededError("slow"), kIdempotent),
              IsOk());
}

// A peer that resets a stream, a proxy, a dying server.
TEST_F(RetryLoopTest, WhatATransportDoesIsRetriedIfTheCallIsIdempotent) {
  for (const absl::Status& status :
       {absl::InternalError("RST_STREAM"), absl::UnknownError("?"),
        absl::CancelledError("goaway")}) {
    RetryLoop loop = Loop();
    EXPECT_THAT(loop.WaitAfter(status, kIdempotent), IsOk());
    RetryLoop careful = Loop();
    const absl::Status stopped =
        careful.WaitAfter(status, Idempotency::kNonIdempotent);
    EXPECT_THAT(stopped, HasCode(status.code()));
    EXPECT_THAT(std::string(stopped.message()), HasSubstr("not idempotent"));
  }
  RetryLoop loop = Loop();
  EXPECT_THAT(
      loop.WaitAfter(MakeError(Reason::kMalformedAnswer, "?"), kIdempotent),
      IsError(Reason::kMalformedAnswer));
}

TEST_F(RetryLoopTest, AStreamStandsNoLongerThanTheBudgetAfterAFailure) {
  RetryLoop loop = Loop(/*random=*/0);
  EXPECT_EQ(loop.Within(absl::Minutes(5)), absl::Minutes(5));
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  EXPECT_EQ(loop.Within(absl::Minutes(5)), absl::Seconds(60));
  clock_.Advance(absl::Seconds(20));
  EXPECT_EQ(loop.Within(absl::Minutes(5)), absl::Seconds(40));
  EXPECT_EQ(loop.Within(absl::Seconds(30)), absl::Seconds(30));
  loop.NoteProgress();
  EXPECT_EQ(loop.Within(absl::Minutes(5)), absl::Minutes(5));
}

TEST_F(RetryLoopTest, NonIdempotentDeadlineIsNotRetried) {
  RetryLoop loop = Loop();
  const absl::Status status = loop.WaitAfter(
      absl::DeadlineExceededError("slow"), Idempotency::kNonIdempotent);
  EXPECT_THAT(status, HasCode(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not idempotent"));
}

TEST_F(RetryLoopTest, BudgetSpentNamesAttemptsAndTheLastError) {
  options_.unavailable_budget = absl::Milliseconds(200);
  RetryLoop loop = Loop();
  // Pauses of 50 and 100 ms fit, 175 ms more do not: there is an attempt when a
  // tenth of the budget is left, and it is the last.
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  EXPECT_THAT(clock_.sleeps(),
              ElementsAre(absl::Milliseconds(50), absl::Milliseconds(100),
                          absl::Milliseconds(200 - 20 - 150)));
  EXPECT_EQ(loop.AttemptTimeout(), absl::Milliseconds(20));
  const absl::Status status = loop.WaitAfter(
      MakeRetryableError(Reason::kDraining, "going", absl::Milliseconds(1)),
      kIdempotent);
  EXPECT_THAT(status, IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("Update"), HasSubstr("4 attempts"),
                    HasSubstr("200ms"), HasSubstr("going")));
  EXPECT_EQ(MetadataOf(status).at("last_reason"), "DRAINING");
  // Nobody is told to wait for what nobody waits for.
  EXPECT_EQ(RetryDelayOf(status), std::nullopt);
}

TEST_F(RetryLoopTest, OfALongBudgetHalfASecondIsKeptForTheLastAttempt) {
  options_.initial_backoff = options_.max_backoff = absl::Minutes(4);
  options_.wait_report_interval = absl::Minutes(2);
  RetryLoop loop = Loop(/*random=*/0.5);
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  EXPECT_THAT(clock_.sleeps(), ElementsAre(absl::Milliseconds(59'500)));
  EXPECT_THAT(loop.WaitAfter(Lost(), kIdempotent),
              IsError(Reason::kUnavailableBudgetSpent));
}

// A pause is cut short only where the server did not ask for it.
TEST_F(RetryLoopTest, WhatTheServerAsksForIsNotCutShort) {
  options_.wait_report_interval = absl::Minutes(2);
  RetryLoop loop = Loop();
  ASSERT_THAT(loop.WaitAfter(MakeRetryableError(Reason::kDraining, "going",
                                                absl::Milliseconds(59'900)),
                             kIdempotent),
              IsOk());
  EXPECT_THAT(clock_.sleeps(), ElementsAre(absl::Milliseconds(59'900)));
}

TEST_F(RetryLoopTest, WithoutABudgetNothingIsRetried) {
  options_.unavailable_budget = absl::ZeroDuration();
  RetryLoop loop = Loop(/*random=*/0);
  EXPECT_THAT(loop.WaitAfter(Lost(), kIdempotent),
              IsError(Reason::kUnavailableBudgetSpent));
}

TEST_F(RetryLoopTest, BudgetSpentAtOnceIfTheServerAsksForMore) {
  RetryLoop loop = Loop();
  EXPECT_THAT(loop.WaitAfter(MakeRetryableError(Reason::kDraining, "going",
                                                absl::Seconds(60)),
                             kIdempotent),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_THAT(clock_.sleeps(), IsEmpty());
}

TEST_F(RetryLoopTest, BudgetCountsFromTheFirstFailure) {
  RetryLoop loop = Loop();
  clock_.Advance(absl::Hours(1));  // A first attempt that takes long.
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  clock_.Advance(absl::Seconds(59));
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(loop.WaitAfter(Lost(), kIdempotent),
              IsError(Reason::kUnavailableBudgetSpent));
}

TEST_F(RetryLoopTest, ProgressStartsTheBudgetAnew) {
  RetryLoop loop = Loop();
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
    clock_.Advance(absl::Seconds(50));
    loop.NoteProgress();
  }
  // The backoff as well: always half of 100 ms.
  EXPECT_THAT(clock_.sleeps(), ::testing::Each(absl::Milliseconds(50)));
}

TEST_F(RetryLoopTest, AttemptsTakeNoLongerThanTheBudget) {
  RetryLoop loop = Loop(/*random=*/0);
  EXPECT_EQ(loop.AttemptTimeout(), absl::Seconds(10));
  ASSERT_THAT(loop.WaitAfter(Lost(), kIdempotent), IsOk());
  EXPECT_EQ(loop.AttemptTimeout(), absl::Seconds(10));
  clock_.Advance(absl::Seconds(57));
  EXPECT_EQ(loop.AttemptTimeout(), absl::Seconds(3));
}

TEST_F(RetryLoopTest, ReportsAtMostOnceInTheInterval) {
  std::vector<absl::Duration> waited;
  std::vector<absl::Duration> left;
  std::vector<std::string> methods;
  std::vector<std::string> errors;
  options_.wait_report_interval = absl::Seconds(5);
  options_.on_wait = [&](const WaitReport& report) {
    waited.push_back(report.waited);
    left.push_back(report.budget_left);
    methods.emplace_back(report.method);
    errors.emplace_back(report.last_error.message());
  };
  RetryLoop loop = Loop(/*random=*/0);
  const auto after = [&](absl::Duration delay) {
    return loop.WaitAfter(MakeRetryableError(Reason::kDraining, "going", delay),
                          kIdempotent);
  };
  ASSERT_THAT(after(absl::Seconds(3)), IsOk());
  EXPECT_THAT(waited, IsEmpty());
  // A long pause is interrupted by reports.
  ASSERT_THAT(after(absl::Seconds(14)), IsOk());
  EXPECT_THAT(waited, ElementsAre(absl::Seconds(5), absl::Seconds(10),
                                  absl::Seconds(15)));
  EXPECT_THAT(left, ElementsAre(absl::Seconds(55), absl::Seconds(50),
                                absl::Seconds(45)));
  EXPECT_THAT(methods, ::testing::Each("Update"));
  EXPECT_THAT(errors, ::testing::Each("going"));
  ASSERT_THAT(after(absl::Seconds(2)), IsOk());
  EXPECT_EQ(waited.size(), 3);
}

}  // namespace
}  // namespace lossscaler::internal
