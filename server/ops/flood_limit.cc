// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/flood_limit.h"

#include <algorithm>

namespace lossscaler::server {

bool FloodLimit::Admit(LogLevel level, std::string_view event, absl::Time now) {
  if (level == LogLevel::kDebug || level == LogLevel::kError) return true;
  const MutexLock lock(&mutex_);
  const auto [entry, added] = buckets_.try_emplace({std::string(event), level});
  Bucket& bucket = entry->second;
  if (added) {
    bucket.tokens = rate_.burst;
  } else {
    const absl::Duration passed =
        std::max(now - bucket.refilled, absl::ZeroDuration());
    bucket.tokens = std::min(
        rate_.burst,
        bucket.tokens + rate_.per_second * absl::ToDoubleSeconds(passed));
  }
  bucket.refilled = now;
  if (bucket.tokens >= 1) {
    --bucket.tokens;
    return true;
  }
  if (bucket.suppressed == 0) bucket.since = now;
  ++bucket.suppressed;
  untold_ = true;
  return false;
}

std::vector<FloodLimit::Suppressed> FloodLimit::TakeDue(absl::Time now) {
  const MutexLock lock(&mutex_);
  return Take(now - rate_.tell_after);
}

std::vector<FloodLimit::Suppressed> FloodLimit::TakeAll() {
  const MutexLock lock(&mutex_);
  return Take(absl::InfiniteFuture());
}

std::vector<FloodLimit::Suppressed> FloodLimit::Take(
    absl::Time since_at_latest) {
  std::vector<Suppressed> taken;
  if (!untold_) return taken;
  untold_ = false;
  for (auto& [key, bucket] : buckets_) {
    if (bucket.suppressed == 0) continue;
    if (bucket.since > since_at_latest) {
      untold_ = true;
      continue;
    }
    taken.push_back({.level = key.second,
                     .event = key.first,
                     .count = bucket.suppressed,
                     .since = bucket.since});
    bucket.suppressed = 0;
  }
  return taken;
}

}  // namespace lossscaler::server
