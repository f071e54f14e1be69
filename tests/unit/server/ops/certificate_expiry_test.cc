// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/certificate_expiry.h"

#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

using Reminder = CertificateExpiry::Reminder;

const absl::Time kEnd = absl::FromUnixSeconds(2'000'000'000);
constexpr absl::Duration kAnHour = absl::Hours(1);
constexpr absl::Duration kADay = absl::Hours(24);

TEST(CertificateExpiry, SaysNothingUntilAWeekIsLeft) {
  CertificateExpiry expiry;
  EXPECT_EQ(expiry.Look(kEnd, kEnd - 30 * kADay), Reminder::kNone);
  EXPECT_EQ(expiry.Look(kEnd, kEnd - 7 * kADay), Reminder::kNone);
  EXPECT_EQ(expiry.Look(kEnd, kEnd - 7 * kADay + absl::Seconds(1)),
            Reminder::kExpiresSoon);
}

TEST(CertificateExpiry, RemindsOnceADay) {
  CertificateExpiry expiry;
  const absl::Time start = kEnd - 6 * kADay;
  EXPECT_EQ(expiry.Look(kEnd, start), Reminder::kExpiresSoon);
  EXPECT_EQ(expiry.Look(kEnd, start + kAnHour), Reminder::kNone);
  EXPECT_EQ(expiry.Look(kEnd, start + kADay - absl::Seconds(1)),
            Reminder::kNone);
  EXPECT_EQ(expiry.Look(kEnd, start + kADay), Reminder::kExpiresSoon);
  EXPECT_EQ(expiry.Look(kEnd, start + kADay + kAnHour), Reminder::kNone);
}

TEST(CertificateExpiry, SaysAtOnceThatItHasExpired) {
  CertificateExpiry expiry;
  EXPECT_EQ(expiry.Look(kEnd, kEnd - kAnHour), Reminder::kExpiresSoon);
  EXPECT_EQ(expiry.Look(kEnd, kEnd), Reminder::kNone);
  EXPECT_EQ(expiry.Look(kEnd, kEnd + absl::Seconds(1)), Reminder::kExpired);
  EXPECT_EQ(expiry.Look(kEnd, kEnd + kAnHour), Reminder::kNone);
  EXPECT_EQ(expiry.Look(kEnd, kEnd + 2 * kADay), Reminder::kExpired);
}

TEST(CertificateExpiry, AnotherCertificateIsNews) {
  CertificateExpiry expiry;
  EXPECT_EQ(expiry.Look(kEnd, kEnd - kADay), Reminder::kExpiresSoon);
  EXPECT_EQ(expiry.Look(kEnd + kAnHour, kEnd - kADay), Reminder::kExpiresSoon);
  EXPECT_EQ(expiry.Look(kEnd + 100 * kADay, kEnd - kADay), Reminder::kNone);
}

}  // namespace
}  // namespace lossscaler::server
