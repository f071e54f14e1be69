// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/lease.h"

#include <algorithm>

namespace lossscaler::internal {

void Lease::Grant(absl::Duration ttl, absl::Time sent_at) {
  ttl_ = ttl;
  renewed_at_ = sent_at;
}

void Lease::Renew(absl::Time sent_at) {
  renewed_at_ = std::max(renewed_at_, sent_at);
}

bool Lease::StaleAt(absl::Time now) const {
  return now - renewed_at_ >= 0.8 * ttl_;
}

absl::Duration Lease::heartbeat_interval() const { return ttl_ / 3; }

}  // namespace lossscaler::internal
