// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CertificateExpiry: when to remind an operator of a certificate that expires.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_SERVER_OPS_CERTIFICATE_EXPIRY_H_
#define LOSSSCALER_SERVER_OPS_CERTIFICATE_EXPIRY_H_

#include "absl/time/time.h"

namespace lossscaler::server {

class CertificateExpiry {
 public:
  enum class Reminder { kNone, kExpiresSoon, kExpired };

  // From this long before the end on.
  static constexpr absl::Duration kSoon = absl::Hours(7 * 24);

  // What to say at `now` of the certificate in force, which is valid until
  // `not_after`. The same thing once a day.
  Reminder Look(absl::Time not_after, absl::Time now);

 private:
  Reminder last_ = Reminder::kNone;
  absl::Time last_not_after_;
  absl::Time said_at_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CERTIFICATE_EXPIRY_H_
