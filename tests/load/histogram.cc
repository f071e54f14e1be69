// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/histogram.h"

#include <algorithm>
#include <cmath>

namespace lossscaler::load {

void Histogram::Add(absl::Duration taken) {
  // Bucket i holds what took up to 2^(i / kPerOctave) microseconds.
  const double octaves =
      std::log2(std::max(absl::ToDoubleMicroseconds(taken), 1.0));
  const double bucket = std::ceil(octaves * kPerOctave);
  ++buckets_[std::min(static_cast<std::size_t>(bucket), buckets_.size() - 1)];
  ++count_;
}

void Histogram::Add(const Histogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    buckets_[i] += other.buckets_[i];
  }
  count_ += other.count_;
}

absl::Duration Histogram::Percentile(double share) const {
  const double rank = std::ceil(share * static_cast<double>(count_));
  double seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += static_cast<double>(buckets_[i]);
    if (seen >= rank && seen > 0) {
      return absl::Microseconds(std::exp2(static_cast<double>(i) / kPerOctave));
    }
  }
  return absl::ZeroDuration();
}

}  // namespace lossscaler::load
