// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Lease: for how long a worker may count on its place in a group (rule R2).
//
// A message that the server has acknowledged renews it from when the message
// was *sent*. When 80 % of the TTL have passed since, the worker takes it for
// stale: the server may have taken the worker for dead.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CLIENT_INTERNAL_LEASE_H_
#define LOSSSCALER_CLIENT_INTERNAL_LEASE_H_

#include "absl/time/time.h"

namespace lossscaler::internal {

class Lease {
 public:
  // Stale until Grant().
  Lease() = default;

  // A join was answered; `sent_at` is when it was asked for.
  void Grant(absl::Duration ttl, absl::Time sent_at);
  // A message that was sent then is acknowledged.
  void Renew(absl::Time sent_at);

  bool StaleAt(absl::Time now) const;
  // How often to ask for a renewal, and how long one may stay unanswered.
  absl::Duration heartbeat_interval() const;
  absl::Duration ttl() const { return ttl_; }

 private:
  absl::Duration ttl_;
  absl::Time renewed_at_ = absl::InfinitePast();
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_LEASE_H_
