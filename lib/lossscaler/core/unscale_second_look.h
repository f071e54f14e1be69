// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The second look at a block that holds a NaN or an infinity, or whose sum of
// squares needs float64.
//
// Included by kernels alone, after Eigen: see unscale_kernel.h.

#ifndef LOSSSCALER_CORE_UNSCALE_SECOND_LOOK_H_
#define LOSSSCALER_CORE_UNSCALE_SECOND_LOOK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_block.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_inspection.h"
#include "lossscaler/core/unscale_kernel.h"
#include "lossscaler/core/unscale_operation.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

template <typename Out>
double SumOfFiniteSquaresInDouble(const Block<Out>& block) {
  using T = Arithmetic<Out>;
  constexpr std::size_t kElements = Group<T>::kElements;
  double lanes[kElements] = {};
  for (std::size_t g = 0; g < block.groups; ++g) {
    Group<T> group;
    Read<Out, Out>(block.stored + g * kElements * sizeof(Out), group);
    T values[kElements];
    Store(group, reinterpret_cast<std::byte*>(values));
    for (std::size_t i = 0; i < kElements; ++i) {
      const double value = IsFinite(values[i]) ? values[i] : T{0};
      lanes[i] += value * value;
    }
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

inline bool IsStoredFinite(float value) { return IsFinite(value); }
inline bool IsStoredFinite(double value) { return IsFinite(value); }
template <typename Sixteen>
bool IsStoredFinite(Sixteen value) {
  return (value.bits & 0x7fffu) < Sixteen::kInfinity;
}

// Index in the block of the first element that is not finite; there is one.
template <typename Out>
std::size_t FirstBad(const Block<Out>& block) {
  for (std::size_t i = 0;; ++i) {
    Out value;
    std::memcpy(&value, block.stored + i * sizeof(Out), sizeof(Out));
    if (!IsStoredFinite(value)) return i;
  }
}

// Counts, locates, sums.
template <bool kStatistics, typename Out>
[[gnu::noinline]] void LookAgain(const Block<Out>& block,
                                 KernelFindings& findings) {
  using T = Arithmetic<Out>;
  namespace e = Eigen::internal;
  const Packet<T> zero = e::pzero(Packet<T>());
  const Packet<T> one = e::pset1<Packet<T>>(T{1});
  const Packet<T> infinity = e::pset1<Packet<T>>(kInfinity<T>);
  Accumulator<T> nans;
  Accumulator<T> positive;
  Accumulator<T> negative;
  Accumulator<T> squares;
  Accumulator<T> maximum;
  for (std::size_t g = 0; g < block.groups; ++g) {
    Group<T> group;
    Read<Out, Out>(block.stored + g * Group<T>::kElements * sizeof(Out), group);
    for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
      const Packet<T> value = group.packets[i];
      nans.Add(i, e::pandnot(one, e::pcmp_eq(value, value)));
      positive.Add(i, e::pand(one, e::pcmp_eq(value, infinity)));
      negative.Add(i, e::pand(one, e::pcmp_eq(e::pnegate(value), infinity)));
      if constexpr (kStatistics) {
        const Packet<T> finite =
            e::pand(value, e::pcmp_eq(e::psub(value, value), zero));
        squares.AddSquare(i, finite);
        maximum.Raise(i, e::pabs(finite));
      }
    }
  }
  findings.nan_count += nans.count();
  findings.positive_infinity_count += positive.count();
  findings.negative_infinity_count += negative.count();
  const bool bad = nans.count() + positive.count() + negative.count() > 0;
  if (bad && findings.first_bad == KernelFindings::kNone) {
    findings.first_bad = block.first_index + FirstBad(block);
  }
  if constexpr (kStatistics) {
    if (!AddStatistics(squares.sum(), maximum.maximum(), findings)) {
      AddStatistics(SumOfFiniteSquaresInDouble(block),
                    static_cast<double>(maximum.maximum()), findings);
    }
  }
}

// NaN as documented, where the fast conversions are free to differ.
template <bool kChanges, typename In, typename Out>
[[gnu::noinline]] void MendNaNs(const std::byte* input,
                                const Block<Out>& block) {
  const std::size_t count = block.groups * Group<Arithmetic<Out>>::kElements;
  if constexpr (kChanges && kIsSixteenBits<Out>) {
    for (std::size_t i = 0; i < count; ++i) {
      Out value;
      std::memcpy(&value, block.stored + i * sizeof(Out), sizeof(Out));
      value = WithoutPayload(value);
      std::memcpy(block.stored + i * sizeof(Out), &value, sizeof(Out));
    }
  }
  if constexpr (!kChanges && kIsSixteenBits<In> && !kIsSixteenBits<Out>) {
    // A processor's own conversion makes signalling NaNs quiet.
    for (std::size_t i = 0; i < count; ++i) {
      In value;
      std::memcpy(&value, input + i * sizeof(In), sizeof(In));
      const std::uint32_t wide = WidenedBits(value);
      std::memcpy(block.stored + i * sizeof(Out), &wide, sizeof(Out));
    }
  }
}

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_SECOND_LOOK_H_
