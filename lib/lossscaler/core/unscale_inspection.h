// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The first look at a block, while its values are in registers.
//
// Included by kernels alone, after Eigen and their own Words: see
// unscale_pass.h.

#ifndef LOSSSCALER_CORE_UNSCALE_INSPECTION_H_
#define LOSSSCALER_CORE_UNSCALE_INSPECTION_H_

#include <cstddef>

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_block.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_kernel.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

// In float32 the squares of 1,024 values up to 2^58 stay below infinity, and
// what the squares of the smaller ones lose to underflow (at most 2^-150 each)
// is less than 2^-39 of the square of a maximum of 2^-50.
inline bool CanSum(float maximum) {
  return maximum == 0.0f || (maximum >= 0x1p-50f && maximum <= 0x1p58f);
}
inline bool CanSum(double /*maximum*/) { return true; }

// Adds to what was found, unless the sum needs float64.
template <typename T>
bool AddStatistics(T sum_of_squares, T maximum, KernelFindings& findings) {
  if (!CanSum(maximum)) return false;
  findings.sum_of_squares += static_cast<double>(sum_of_squares);
  if (maximum > findings.absolute_maximum) findings.absolute_maximum = maximum;
  return true;
}

// Looks at the floats of a block as they are stored.
template <bool kStatistics, typename T>
class GroupInspection {
 public:
  void Add(const Group<T>& group) {
    for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
      const Packet<T>& value = group.packets[i];
      if constexpr (kStatistics) {
        sum_.AddSquare(i, value);
        maximum_.Raise(i, Eigen::internal::pabs(value));
      } else {
        // 0 for a finite value, NaN otherwise.
        sum_.Add(i, Eigen::internal::psub(value, value));
      }
    }
  }

  // Whether no second look is needed; if so, what was found is in `findings`.
  bool Conclude(KernelFindings& findings) const {
    const T sum = sum_.sum();
    if (!IsFinite(sum)) return false;
    if constexpr (!kStatistics) return true;
    return AddStatistics(sum, maximum_.maximum(), findings);
  }

 private:
  Accumulator<T> sum_;
  Accumulator<T> maximum_;
};

// The same in 16 bits, where the largest magnitude, as an integer, also says
// whether all are finite.
template <bool kStatistics, typename Out>
class WordsInspection {
 public:
  void Add(const Words<Out>& words) {
    maximum_.Raise(words);
    if constexpr (kStatistics) {
      Group<float> group;
      Widen(words, group);
      for (std::size_t i = 0; i < Group<float>::kPackets; ++i) {
        squares_.AddSquare(i, group.packets[i]);
      }
    }
  }

  bool Conclude(KernelFindings& findings) const {
    const Out maximum = maximum_.maximum();
    if (maximum.bits >= Out::kInfinity) return false;
    if constexpr (!kStatistics) return true;
    return AddStatistics(squares_.sum(),
                         __builtin_bit_cast(float, WidenedBits(maximum)),
                         findings);
  }

 private:
  WordsMaximum<Out> maximum_;
  Accumulator<float> squares_;
};

template <bool kStatistics, typename Out, bool kWords>
struct InspectionOf {
  using Type = GroupInspection<kStatistics, Out>;
};
template <bool kStatistics, typename Out>
struct InspectionOf<kStatistics, Out, true> {
  using Type = WordsInspection<kStatistics, Out>;
};

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_INSPECTION_H_
