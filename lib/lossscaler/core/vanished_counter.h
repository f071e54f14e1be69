// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// VanishedCounter: how many values of a block are stored as zero without having
// been zero.
//
// They are those from the smallest number to the largest that vanishes, which
// is found once for a call; so nothing has to wait for a result.
//
// Included by kernels alone, after Eigen: see unscale_kernel.h.

#ifndef LOSSSCALER_CORE_VANISHED_COUNTER_H_
#define LOSSSCALER_CORE_VANISHED_COUNTER_H_

#include <cstddef>
#include <cstdint>

#include "lossscaler/core/unscale_group.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

// The largest magnitude that `vanishes` is true of; 0 if that is of none but
// zero. `Bits` has the size of T.
template <typename T, typename Bits, typename Predicate>
T LargestThat(const Predicate& vanishes) {
  Bits low = 0;
  auto high = __builtin_bit_cast(Bits, static_cast<T>(__builtin_inf()));
  while (high - low > 1) {
    const Bits middle = low + (high - low) / 2;
    (vanishes(__builtin_bit_cast(T, middle)) ? low : high) = middle;
  }
  return __builtin_bit_cast(T, low);
}

// A kernel may specialise it for its machine.
template <typename T>
class VanishedCounter {
 public:
  explicit VanishedCounter(T largest_that_vanishes)
      : largest_(Eigen::internal::pset1<Packet<T>>(largest_that_vanishes)) {}

  // The i-th packet of a group, as read.
  void Add(std::size_t i, const Packet<T>& before) {
    namespace e = Eigen::internal;
    const Packet<T> zero = e::pzero(before);
    const Packet<T> vanished = e::pandnot(e::pcmp_le(e::pabs(before), largest_),
                                          e::pcmp_eq(before, zero));
    counts_.Add(i, e::pand(e::pset1<Packet<T>>(T{1}), vanished));
  }

  std::uint64_t count() const { return counts_.count(); }

 private:
  Packet<T> largest_;
  Accumulator<T> counts_;
};

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_VANISHED_COUNTER_H_
