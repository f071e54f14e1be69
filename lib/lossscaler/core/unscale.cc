// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/unscale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>

#include "Eigen/Core"

namespace lossscaler {
namespace {

// A block's working memory stays in the first-level cache, and its float32 sum
// keeps enough bits.
constexpr std::size_t kBlockElements = 1024;

template <typename In>
using Arithmetic =
    std::conditional_t<std::is_same_v<In, double>, double, float>;

// 64 bytes of independent accumulators: enough to hide the latency of an
// addition, few enough for the registers of every x86-64.
template <typename T>
inline constexpr std::size_t kLanes = 64 / sizeof(T);
template <typename T>
using Lanes = Eigen::Array<T, static_cast<int>(kLanes<T>), 1>;

template <typename T>
using BlockMap =
    Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>, Eigen::Aligned64>;
template <typename T>
using ConstBlockMap =
    Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>, Eigen::Aligned64>;

// Memory for a block of `Other`; none where that is the type of the arithmetic.
template <typename T, typename Other>
struct Buffer {
  alignas(64) Other values[kBlockElements];
};
template <typename T>
struct Buffer<T, T> {};

// One block on its way through the kernel. Working on copies makes unaligned
// memory, in-place and check-only calls the same case: what was read and what
// is stored are both still there when the block has to be walked again.
template <typename In, typename Out>
struct Block {
  using T = Arithmetic<In>;

  std::size_t count = 0;
  alignas(64) T before[kBlockElements];
  alignas(64) T after[kBlockElements];
  Buffer<T, In> input_buffer;
  Buffer<T, Out> output_buffer;

  // As read: `before`, if that has the same type.
  In* input() {
    if constexpr (std::is_same_v<T, In>) {
      return before;
    } else {
      return input_buffer.values;
    }
  }
  // As stored: `after`, if that has the same type.
  Out* output() {
    if constexpr (std::is_same_v<T, Out>) {
      return after;
    } else {
      return output_buffer.values;
    }
  }
};

template <typename From, typename To>
void Convert(const From* from, std::size_t count, To* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

// How `before` becomes `after`, resolved once for a call.
template <typename T>
struct Operation {
  explicit Operation(const UnscaleParameters& parameters)
      : identity(static_cast<T>(parameters.scale) == T{1}),
        multiply(parameters.arithmetic ==
                 UnscaleArithmetic::kMultiplyByReciprocal),
        factor(static_cast<T>(multiply ? 1.0 / parameters.scale
                                       : parameters.scale)) {}

  bool identity;
  bool multiply;
  T factor;
};

template <typename In, typename Out>
void Apply(const Operation<Arithmetic<In>>& operation, Block<In, Out>& block) {
  using T = Arithmetic<In>;
  if constexpr (!std::is_same_v<T, In>) {
    Convert(block.input(), block.count, block.before);
  }
  if (operation.identity) {
    std::memcpy(block.after, block.before, block.count * sizeof(T));
    if constexpr (!std::is_same_v<T, Out>) {
      // Not narrowed from `after`: that would lose the payload of a NaN.
      static_assert(std::is_same_v<In, Out>);
      std::memcpy(static_cast<void*>(block.output()), block.input(),
                  block.count * sizeof(Out));
    }
    return;
  }
  const auto size = static_cast<Eigen::Index>(block.count);
  const ConstBlockMap<T> before(block.before, size);
  BlockMap<T> after(block.after, size);
  if (operation.multiply) {
    after = before * operation.factor;
  } else {
    after = before / operation.factor;
  }
  if constexpr (!std::is_same_v<T, Out>) {
    Convert(block.after, block.count, block.output());
    // What is tested is what is stored.
    Convert(block.output(), block.count, block.after);
  }
}

template <typename T>
std::uint32_t CountFlushedToZero(const T* before, const T* after,
                                 std::size_t count) {
  std::uint32_t flushed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    flushed += static_cast<std::uint32_t>(before[i] != T{0}) &
               static_cast<std::uint32_t>(after[i] == T{0});
  }
  return flushed;
}

template <typename T>
double SumOfSquaresInDouble(const T* values, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i];
    sum += value * value;
  }
  return sum;
}

// Whether a block with this maximum can be summed in T. In float32 the squares
// of 1,024 values up to 2^58 stay below infinity, and what the squares of the
// smaller ones lose to underflow (at most 2^-150 each) is less than 2^-39 of
// the square of a maximum of 2^-50.
template <typename T>
bool CanSumIn(T absolute_maximum) {
  if constexpr (std::is_same_v<T, double>) return true;
  return absolute_maximum == T{0} ||
         (absolute_maximum >= T{0x1p-50f} && absolute_maximum <= T{0x1p58f});
}

// The careful walk, for a block that is known to hold a NaN or an infinity.
template <typename T>
void InspectNonFinite(const T* values, std::size_t count, bool statistics,
                      std::uint64_t first_index, UnscaleVerdict& verdict) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = values[i];
    if (std::isfinite(value)) {
      if (!statistics) continue;
      const double wide = value;
      verdict.sum_of_squares += wide * wide;
      verdict.absolute_maximum =
          std::max(verdict.absolute_maximum, std::abs(wide));
      continue;
    }
    if (!verdict.first_bad_index) verdict.first_bad_index = first_index + i;
    if (std::isnan(value)) {
      ++verdict.nan_count;
    } else if (value > T{0}) {
      ++verdict.positive_infinity_count;
    } else {
      ++verdict.negative_infinity_count;
    }
  }
}

// The fast walk; leaves the block to a careful one where it has to.
// `values` has room for kBlockElements.
template <bool kStatistics, typename T>
void Inspect(T* values, std::size_t count, std::uint64_t first_index,
             UnscaleVerdict& verdict) {
  // Zeros in the last lanes change nothing.
  const std::size_t padded = (count + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  std::fill(values + count, values + padded, T{0});

  // v - v is 0 for a finite v and NaN otherwise.
  Lanes<T> poison = Lanes<T>::Zero();
  Lanes<T> sum = Lanes<T>::Zero();
  Lanes<T> maximum = Lanes<T>::Zero();
  for (std::size_t i = 0; i < padded; i += kLanes<T>) {
    const Eigen::Map<const Lanes<T>, Eigen::Aligned64> value(values + i);
    poison += value - value;
    if constexpr (kStatistics) {
      sum += value * value;
      maximum = maximum.max(value.abs());
    }
  }
  if (std::isnan(poison.sum())) {
    InspectNonFinite(values, count, kStatistics, first_index, verdict);
    return;
  }
  if constexpr (kStatistics) {
    const T largest = maximum.maxCoeff();
    verdict.absolute_maximum =
        std::max(verdict.absolute_maximum, static_cast<double>(largest));
    verdict.sum_of_squares += CanSumIn(largest)
                                  ? static_cast<double>(sum.sum())
                                  : SumOfSquaresInDouble(values, count);
  }
}

template <typename In, typename Out>
UnscaleVerdict Run(const void* input, std::size_t count, void* output,
                   std::uint64_t first_index,
                   const UnscaleParameters& parameters) {
  const Operation<Arithmetic<In>> operation(parameters);
  // A result is smaller than its input only if the scale is above 1.
  const bool may_flush = parameters.scale > 1.0;
  UnscaleVerdict verdict;
  verdict.element_count = count;
  Block<In, Out> block;
  for (std::size_t begin = 0; begin < count; begin += kBlockElements) {
    block.count = std::min(kBlockElements, count - begin);
    std::memcpy(static_cast<void*>(block.input()),
                static_cast<const char*>(input) + begin * sizeof(In),
                block.count * sizeof(In));
    Apply(operation, block);
    if (output != nullptr) {
      std::memcpy(static_cast<char*>(output) + begin * sizeof(Out),
                  static_cast<const void*>(block.output()),
                  block.count * sizeof(Out));
    }
    if (may_flush) {
      verdict.flushed_to_zero +=
          CountFlushedToZero(block.before, block.after, block.count);
    }
    if (parameters.statistics) {
      Inspect<true>(block.after, block.count, first_index + begin, verdict);
    } else {
      Inspect<false>(block.after, block.count, first_index + begin, verdict);
    }
  }
  return verdict;
}

}  // namespace

void UnscaleVerdict::Merge(const UnscaleVerdict& other) {
  element_count += other.element_count;
  nan_count += other.nan_count;
  positive_infinity_count += other.positive_infinity_count;
  negative_infinity_count += other.negative_infinity_count;
  flushed_to_zero += other.flushed_to_zero;
  if (other.first_bad_index &&
      (!first_bad_index || *other.first_bad_index < *first_bad_index)) {
    first_bad_index = other.first_bad_index;
  }
  sum_of_squares += other.sum_of_squares;
  absolute_maximum = std::max(absolute_maximum, other.absolute_maximum);
}

std::ostream& operator<<(std::ostream& os, const UnscaleVerdict& verdict) {
  os << "UnscaleVerdict{elements: " << verdict.element_count
     << ", nan: " << verdict.nan_count
     << ", +inf: " << verdict.positive_infinity_count
     << ", -inf: " << verdict.negative_infinity_count
     << ", flushed_to_zero: " << verdict.flushed_to_zero;
  if (verdict.first_bad_index) {
    os << ", first_bad_index: " << *verdict.first_bad_index;
  }
  return os << ", sum_of_squares: " << verdict.sum_of_squares
            << ", absolute_maximum: " << verdict.absolute_maximum << "}";
}

bool CanStore(ElementType input, ElementType output) {
  return output == input || output == WideType(input);
}

UnscaleVerdict Unscale(ElementType input_type, const void* input,
                       std::size_t count, ElementType output_type, void* output,
                       std::uint64_t first_index,
                       const UnscaleParameters& parameters) {
  const bool widen = output_type != input_type;
  switch (input_type) {
    case ElementType::kFloat32:
      return Run<float, float>(input, count, output, first_index, parameters);
    case ElementType::kFloat16:
      return widen ? Run<Eigen::half, float>(input, count, output, first_index,
                                             parameters)
                   : Run<Eigen::half, Eigen::half>(input, count, output,
                                                   first_index, parameters);
    case ElementType::kBFloat16:
      return widen ? Run<Eigen::bfloat16, float>(input, count, output,
                                                 first_index, parameters)
                   : Run<Eigen::bfloat16, Eigen::bfloat16>(
                         input, count, output, first_index, parameters);
    case ElementType::kFloat64:
      return Run<double, double>(input, count, output, first_index, parameters);
  }
  return {};
}

}  // namespace lossscaler
