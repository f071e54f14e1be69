// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/open_votes.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1000);

class OpenVotesTest : public ::testing::Test {
 protected:
  std::shared_ptr<PendingVote> Add(std::int64_t step) {
    auto vote = std::make_shared<PendingVote>(step,
                                              Vote{.verdict = Verdict::kFinite,
                                                   .scale_used = 4.0,
                                                   .base_session_uid = "uid",
                                                   .base = 0},
                                              std::nullopt);
    votes_.Add(vote);
    return vote;
  }
  // The steps voted on.
  std::vector<std::int64_t> SendDue(absl::Time now) {
    std::vector<std::int64_t> steps;
    next_ = votes_.SendDue(now, [&](const PendingVote& vote) {
      steps.push_back(vote.step);
      return ++sequence_;
    });
    return steps;
  }
  static Decision Applied(std::int64_t step) {
    Decision decision;
    decision.step = step;
    decision.scale_before = 4.0;
    return decision;
  }
  static absl::Status Later(Reason reason) {
    return MakeRetryableError(reason, "later", absl::Seconds(2));
  }

  OpenVotes votes_{"uid", absl::Seconds(1), [] { return 0.5; }};
  std::int64_t sequence_ = 0;
  absl::Time next_;
};

TEST_F(OpenVotesTest, AVoteIsSentOnceOnEveryStreamUntilItIsAnswered) {
  const auto vote = Add(1);
  EXPECT_THAT(SendDue(kStart), ElementsAre(1));
  EXPECT_THAT(SendDue(kStart), IsEmpty());
  votes_.StreamLost();
  EXPECT_THAT(SendDue(kStart + absl::Seconds(1)), ElementsAre(1));
  EXPECT_EQ(votes_.Answer(1, Applied(1), kStart), std::nullopt);
  EXPECT_EQ(votes_.Answer(2, Applied(1), kStart), kStart + absl::Seconds(1));
  ASSERT_TRUE(vote->answer.has_value());
  EXPECT_THAT(*vote->answer, IsOk());
  votes_.StreamLost();
  EXPECT_THAT(SendDue(kStart), IsEmpty());
}

TEST_F(OpenVotesTest, AnErrorThatSaysLaterIsWaitedOut) {
  const auto vote = Add(1);
  SendDue(kStart);
  votes_.Answer(1, Later(Reason::kDraining), kStart);
  EXPECT_THAT(SendDue(kStart), IsEmpty());
  EXPECT_EQ(next_, kStart + absl::Seconds(2));
  EXPECT_EQ(vote->failing_since, kStart);
  EXPECT_THAT(SendDue(next_), ElementsAre(1));
  // Without a delay of the server's: half of the longest pause.
  votes_.Answer(2, absl::UnavailableError("lost"), next_);
  const absl::Time second = next_;
  SendDue(second);
  EXPECT_EQ(next_, second + absl::Milliseconds(500));
  EXPECT_EQ(vote->failing_since, kStart);
}

// A recorded vote has no answer until its peers have voted, for minutes.
TEST_F(OpenVotesTest, AVoteThatTheServerHasTakenAfterAllFailsNoLonger) {
  const auto vote = Add(1);
  SendDue(kStart);
  votes_.Answer(1, Later(Reason::kStoreUnavailable), kStart);
  SendDue(kStart + absl::Seconds(2));
  votes_.Answered(1);
  EXPECT_EQ(vote->failing_since, kStart);
  votes_.Answered(3);
  EXPECT_EQ(vote->failing_since, std::nullopt);
  EXPECT_THAT(vote->failure, IsOk());
}

TEST_F(OpenVotesTest, WaitingForAGroupSpendsNothingAndEndsWhenItOpens) {
  for (const Reason reason : {Reason::kSessionPaused, Reason::kNotActive}) {
    const auto vote = Add(1);
    SendDue(kStart);
    votes_.Answer(sequence_, Later(reason), kStart);
    EXPECT_EQ(vote->failing_since, std::nullopt);
    votes_.SessionOpened(kStart);
    EXPECT_THAT(SendDue(kStart), ElementsAre(1));
    votes_.Answer(sequence_, Applied(1), kStart);
  }
}

TEST_F(OpenVotesTest, AnOpenSessionHastensNoVoteThatTheServerCouldNotTake) {
  Add(1);
  SendDue(kStart);
  votes_.Answer(1, Later(Reason::kStoreUnavailable), kStart);
  votes_.SessionOpened(kStart);
  EXPECT_THAT(SendDue(kStart), IsEmpty());
}

TEST_F(OpenVotesTest, ARefusalIsAnAnswer) {
  const auto vote = Add(1);
  SendDue(kStart);
  votes_.Answer(1, MakeError(Reason::kResync, "no"), kStart);
  ASSERT_TRUE(vote->answer.has_value());
  EXPECT_THAT(*vote->answer, IsError(Reason::kResync));
}

TEST_F(OpenVotesTest, ADecisionThatCannotBeTheAnswerIsRefused) {
  const auto vote = Add(1);
  SendDue(kStart);
  votes_.Answer(1, Applied(2), kStart);
  ASSERT_TRUE(vote->answer.has_value());
  EXPECT_THAT(*vote->answer, IsError(Reason::kMalformedAnswer));
}

}  // namespace
}  // namespace lossscaler::internal
