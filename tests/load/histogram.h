// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Histogram: how long things took, in memory that does not grow with their
// number.

#ifndef LOSSSCALER_TESTS_LOAD_HISTOGRAM_H_
#define LOSSSCALER_TESTS_LOAD_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace lossscaler::load {

// Thread safety: one thread.
class Histogram {
 public:
  void Add(absl::Duration taken);
  void Add(const Histogram& other);

  std::int64_t count() const { return count_; }

  // What at least `share` of them, in (0, 1], did not exceed: rounded up by at
  // most a sixteenth of an octave (4.5 %), to a microsecond at least. Zero of
  // none.
  absl::Duration Percentile(double share) const;

 private:
  static constexpr int kPerOctave = 16;
  // From a microsecond to more than an hour.
  static constexpr int kOctaves = 32;

  std::array<std::int64_t, std::size_t{kPerOctave} * kOctaves> buckets_{};
  std::int64_t count_ = 0;
};

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_HISTOGRAM_H_
