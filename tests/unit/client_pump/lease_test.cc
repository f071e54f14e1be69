// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/lease.h"

#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(LeaseTest, IsStaleBeforeAnyWasGranted) {
  EXPECT_TRUE(Lease().StaleAt(kStart));
}

TEST(LeaseTest, IsStaleFourFifthsOfTheTtlAfterTheRenewalWasSent) {
  Lease lease;
  lease.Grant(absl::Seconds(30), kStart);
  EXPECT_FALSE(
      lease.StaleAt(kStart + absl::Seconds(24) - absl::Nanoseconds(1)));
  EXPECT_TRUE(lease.StaleAt(kStart + absl::Seconds(24)));
  lease.Renew(kStart + absl::Seconds(10));
  EXPECT_FALSE(lease.StaleAt(kStart + absl::Seconds(33)));
  EXPECT_TRUE(lease.StaleAt(kStart + absl::Seconds(34)));
}

TEST(LeaseTest, AnAcknowledgementThatComesLateTakesNothingBack) {
  Lease lease;
  lease.Grant(absl::Seconds(30), kStart);
  lease.Renew(kStart + absl::Seconds(10));
  lease.Renew(kStart + absl::Seconds(5));
  EXPECT_FALSE(lease.StaleAt(kStart + absl::Seconds(33)));
}

TEST(LeaseTest, AnotherGrantCountsFromItsOwnJoin) {
  Lease lease;
  lease.Grant(absl::Seconds(30), kStart + absl::Seconds(20));
  lease.Grant(absl::Seconds(60), kStart);
  EXPECT_EQ(lease.heartbeat_interval(), absl::Seconds(20));
  EXPECT_TRUE(lease.StaleAt(kStart + absl::Seconds(48)));
}

}  // namespace
}  // namespace lossscaler::internal
