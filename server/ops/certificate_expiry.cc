// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/certificate_expiry.h"

namespace lossscaler::server {

CertificateExpiry::Reminder CertificateExpiry::Look(absl::Time not_after,
                                                    absl::Time now) {
  const Reminder reminder = now > not_after           ? Reminder::kExpired
                            : not_after - now < kSoon ? Reminder::kExpiresSoon
                                                      : Reminder::kNone;
  const bool said = reminder == last_ && not_after == last_not_after_ &&
                    now - said_at_ < absl::Hours(24);
  if (reminder == Reminder::kNone || said) return Reminder::kNone;
  last_ = reminder;
  last_not_after_ = not_after;
  said_at_ = now;
  return reminder;
}

}  // namespace lossscaler::server
