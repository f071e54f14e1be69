// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/reconnect.h"

#include <algorithm>
#include <utility>

#include "lossscaler/core/error.h"

namespace lossscaler::internal {

Reconnect::Reconnect(absl::Duration initial_backoff, absl::Duration max_backoff,
                     std::function<double()> random)
    : initial_backoff_(initial_backoff),
      max_backoff_(max_backoff),
      random_(std::move(random)),
      backoff_(initial_backoff) {}

void Reconnect::Lost(const absl::Status& why, absl::Time now) {
  if (!away_since_) away_since_ = now;
  error_ = why;
  next_ = now + std::max(random_() * backoff_,
                         RetryDelayOf(why).value_or(absl::ZeroDuration()));
  backoff_ = std::min(2 * backoff_, max_backoff_);
}

void Reconnect::Works() {
  away_since_.reset();
  backoff_ = initial_backoff_;
  next_ = absl::InfinitePast();
}

}  // namespace lossscaler::internal
