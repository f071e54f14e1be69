// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/reconnect.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

using ::testing::ElementsAre;

const absl::Time kLost = absl::FromUnixSeconds(1000);

Reconnect Doubling() {
  return Reconnect(absl::Milliseconds(100), absl::Seconds(1),
                   [] { return 0.5; });
}

TEST(ReconnectTest, ThePauseDoublesUpToItsMaximum) {
  Reconnect reconnect = Doubling();
  EXPECT_LE(reconnect.next(), kLost);
  std::vector<absl::Duration> pauses;
  for (int i = 0; i < 6; ++i) {
    reconnect.Lost(absl::UnavailableError("lost"), kLost);
    pauses.push_back(reconnect.next() - kLost);
  }
  EXPECT_THAT(pauses,
              ElementsAre(absl::Milliseconds(50), absl::Milliseconds(100),
                          absl::Milliseconds(200), absl::Milliseconds(400),
                          absl::Milliseconds(500), absl::Milliseconds(500)));
}

TEST(ReconnectTest, TheServersOwnDelayIsWaitedForWhole) {
  Reconnect reconnect = Doubling();
  reconnect.Lost(
      MakeRetryableError(Reason::kDraining, "down", absl::Seconds(3)), kLost);
  EXPECT_EQ(reconnect.next(), kLost + absl::Seconds(3));
}

// Otherwise a stream that breaks whenever it is opened is opened for ever.
TEST(ReconnectTest, ItIsAwayFromTheFirstLossUntilAStreamWorks) {
  Reconnect reconnect = Doubling();
  EXPECT_EQ(reconnect.away_since(), std::nullopt);
  reconnect.Lost(absl::UnavailableError("first"), kLost);
  reconnect.Lost(absl::UnavailableError("second"), kLost + absl::Seconds(5));
  EXPECT_EQ(reconnect.away_since(), kLost);
  EXPECT_EQ(reconnect.error().message(), "second");
  reconnect.Works();
  EXPECT_EQ(reconnect.away_since(), std::nullopt);
  reconnect.Lost(absl::UnavailableError("third"), kLost + absl::Seconds(9));
  EXPECT_EQ(reconnect.away_since(), kLost + absl::Seconds(9));
  EXPECT_EQ(reconnect.next(),
            kLost + absl::Seconds(9) + absl::Milliseconds(50));
}

}  // namespace
}  // namespace lossscaler::internal
