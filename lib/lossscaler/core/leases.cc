// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/leases.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lossscaler {

void Leases::Renew(std::int64_t incarnation, absl::Time end) {
  const auto [lease, fresh] = ends_.try_emplace(incarnation, end);
  if (!fresh) {
    if (end <= lease->second) return;
    order_.erase({lease->second, incarnation});
    lease->second = end;
  }
  order_.emplace(end, incarnation);
}

void Leases::Drop(std::int64_t incarnation) {
  const auto lease = ends_.find(incarnation);
  if (lease == ends_.end()) return;
  order_.erase({lease->second, incarnation});
  ends_.erase(lease);
}

absl::Duration Leases::Left(std::int64_t incarnation, absl::Time now) const {
  const auto lease = ends_.find(incarnation);
  if (lease == ends_.end()) return absl::ZeroDuration();
  return std::max(lease->second - now, absl::ZeroDuration());
}

absl::Time Leases::FirstEnd() const {
  return order_.empty() ? absl::InfiniteFuture() : order_.begin()->first;
}

std::vector<std::int64_t> Leases::Over(absl::Time now) const {
  std::vector<std::int64_t> over;
  for (const auto& [end, incarnation] : order_) {
    if (end > now) break;
    over.push_back(incarnation);
  }
  return over;
}

void Leases::Postpone(absl::Duration duration) {
  order_.clear();
  for (auto& [incarnation, end] : ends_) {
    end += duration;
    order_.emplace(end, incarnation);
  }
}

}  // namespace lossscaler
