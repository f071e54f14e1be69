// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The unscale kernel: divides gradients by the scale and tests them, in one
// pass over memory.
//
//   divide:                 out = f32(g) / f32(scale)
//   multiply by reciprocal: out = f32(g) * f32(1 / f64(scale))
//
// rounded to nearest, ties to even, into the stored type. Arithmetic is float32
// for float32, float16 and bfloat16 input; for float64 input f64 takes the
// place of f32. The operation is elementwise; a matrix is a run of elements
// like any other. A NaN that is divided and stored in 16 bits keeps its sign,
// not its payload. A scale that is a power of two, as they mostly are, is
// multiplied by its reciprocal where that has the same bits.
//
// On x86-64 there are two kernels, for SSE2 and for AVX2 with F16C, and a call
// takes what the processor and its operating system can run; elsewhere there is
// one. Stored results, counts, index and maximum have the same bits on each;
// sums are within the tolerance stated below. Neither fuses multiplications and
// additions. Results rely on the default floating-point environment: rounding
// to nearest, and subnormal numbers not flushed to zero.
//
// A call uses the calling thread alone. Thread safety: free functions; what
// they share is set once and never changes.

#ifndef LOSSSCALER_CORE_UNSCALE_H_
#define LOSSSCALER_CORE_UNSCALE_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>

#include "lossscaler/core/element_type.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

// What was found in a run of elements. Counts, flags, index and maximum have
// the same bits however the run was cut into calls. The sum is that of the
// exact squares within 2^-17 relative (float32 blocks of at most 1,024
// elements, added up in float64), or n * 2^-53 for float64 input as far as its
// squares are normal numbers, so two cuts of one run may differ by twice that.
struct UnscaleVerdict {
  std::uint64_t element_count = 0;
  // Of the stored results. A non-finite input always gives a non-finite
  // result; a finite input may too (3e38 / 0.5 in float32, 40000 / 0.5 in
  // float16).
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
  // Not zero before unscaling, zero as stored.
  std::uint64_t flushed_to_zero = 0;
  // Index of the first element with a non-finite result, counted from
  // `first_index` of the call.
  std::optional<std::uint64_t> first_bad_index = std::nullopt;
  // Over the elements with a finite result, of the stored result (in float64:
  // 1e20 and 1e-23 count in float32 tensors too). 0 without statistics.
  double sum_of_squares = 0.0;
  double absolute_maximum = 0.0;

  bool overflow() const {
    return nan_count + positive_infinity_count + negative_infinity_count > 0;
  }

  // Adds what was found in other elements; keeps the smaller first_bad_index,
  // so both must be of the same tensor or the index is meaningless.
  void Merge(const UnscaleVerdict& other);

  friend bool operator==(const UnscaleVerdict&,
                         const UnscaleVerdict&) = default;
};

std::ostream& operator<<(std::ostream& os, const UnscaleVerdict& verdict);

struct UnscaleParameters {
  // In [kMinScale, kMaxScale]. At 1 values stay as they are, bit for bit, but
  // detection and statistics still run.
  double scale = 1.0;
  UnscaleArithmetic arithmetic = UnscaleArithmetic::kDivide;
  // Whether sum_of_squares and absolute_maximum are computed.
  bool statistics = true;
};

// Whether Unscale() can store `output` for `input`: the type itself, or
// float32 for a 16-bit type.
bool CanStore(ElementType input, ElementType output);

// Unscales `count` elements from `input` to `output`.
//
// Both are densely packed in the byte order of the machine and need no
// alignment. `output` may be `input` itself if both types have one size, may
// be null (the result is tested but not stored), and otherwise does not
// overlap. `first_index` is the index of the first element in its tensor.
//
// REQUIRES: CanStore(input_type, output_type).
UnscaleVerdict Unscale(ElementType input_type, const void* input,
                       std::size_t count, ElementType output_type, void* output,
                       std::uint64_t first_index,
                       const UnscaleParameters& parameters);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_H_
