// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/leases.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;

absl::Time At(int seconds) { return absl::FromUnixSeconds(seconds); }

TEST(LeasesTest, AreOverAtTheirEnd) {
  Leases leases;
  leases.Renew(1, At(10));
  leases.Renew(2, At(5));
  EXPECT_THAT(leases.FirstEnd(), Eq(At(5)));
  EXPECT_THAT(leases.Over(At(5) - absl::Nanoseconds(1)), IsEmpty());
  EXPECT_THAT(leases.Over(At(5)), ElementsAre(2));
  EXPECT_THAT(leases.Over(At(10)), ElementsAre(2, 1));
  EXPECT_THAT(leases.Left(1, At(4)), Eq(absl::Seconds(6)));
  EXPECT_THAT(leases.Left(1, At(11)), Eq(absl::ZeroDuration()));
}

TEST(LeasesTest, ARenewalNeverShortens) {
  Leases leases;
  leases.Renew(1, At(10));
  leases.Renew(1, At(9));
  EXPECT_THAT(leases.FirstEnd(), Eq(At(10)));
  leases.Renew(1, At(12));
  EXPECT_THAT(leases.FirstEnd(), Eq(At(12)));
  EXPECT_THAT(leases.Over(At(11)), IsEmpty());
}

TEST(LeasesTest, DroppedOnesAreGone) {
  Leases leases;
  leases.Renew(1, At(10));
  leases.Drop(1);
  leases.Drop(2);
  EXPECT_FALSE(leases.Has(1));
  EXPECT_THAT(leases.FirstEnd(), Eq(absl::InfiniteFuture()));
  EXPECT_THAT(leases.Left(1, At(0)), Eq(absl::ZeroDuration()));
}

TEST(LeasesTest, PostponedAllRunLonger) {
  Leases leases;
  leases.Renew(1, At(10));
  leases.Renew(2, At(5));
  leases.Postpone(absl::Seconds(3));
  EXPECT_THAT(leases.FirstEnd(), Eq(At(8)));
  EXPECT_THAT(leases.Left(1, At(10)), Eq(absl::Seconds(3)));
}

}  // namespace
}  // namespace lossscaler
