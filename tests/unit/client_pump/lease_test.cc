// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/lease.h"

#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

const absl::Time kLeased = absl::FromUnixSeconds(1000);

TEST(LeaseTest, IsStaleBeforeAnyWasGranted) {
  EXPECT_TRUE(Lease().StaleAt(kLeased));
}

TEST(LeaseTest, IsStaleFourFifthsOfTheTtlAfterTheRenewalWasSent) {
  Lease lease;
  lease.Grant(absl::Seconds(30), kLeased);
  EXPECT_FALSE(
      lease.StaleAt(kLeased + absl::Seconds(24) - absl::Nanoseconds(1)));
  EXPECT_TRUE(lease.StaleAt(kLeased + absl::Seconds(24)));
  lease.Renew(kLeased + absl::Seconds(10));
  EXPECT_FALSE(lease.StaleAt(kLeased + absl::Seconds(33)));
  EXPECT_TRUE(lease.StaleAt(kLeased + absl::Seconds(34)));
}

TEST(LeaseTest, AnAcknowledgementThatComesLateTakesNothingBack) {
  Lease lease;
  lease.Grant(absl::Seconds(30), kLeased);
  lease.Renew(kLeased + absl::Seconds(10));
  lease.Renew(kLeased + absl::Seconds(5));
  EXPECT_FALSE(lease.StaleAt(kLeased + absl::Seconds(33)));
}

TEST(LeaseTest, AnotherGrantCountsFromItsOwnJoin) {
  Lease lease;
  lease.Grant(absl::Seconds(30), kLeased + absl::Seconds(20));
  lease.Grant(absl::Seconds(60), kLeased);
  EXPECT_EQ(lease.heartbeat_interval(), absl::Seconds(20));
  EXPECT_TRUE(lease.StaleAt(kLeased + absl::Seconds(48)));
}

}  // namespace
}  // namespace lossscaler::internal
