// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// float16 (IEEE 754 binary16) and bfloat16 as bits: conversions without a
// branch, so that a loop over them is vectorised on every machine.
//
// In a nameless namespace, because kernels that include this are compiled for
// different processors: see unscale_kernel.h.

#ifndef LOSSSCALER_CORE_SIXTEEN_BITS_H_
#define LOSSSCALER_CORE_SIXTEEN_BITS_H_

#include <cstdint>

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

struct Float16 {
  static constexpr std::uint16_t kInfinity = 0x7c00;
  static constexpr std::uint16_t kQuietNaN = 0x7e00;
  std::uint16_t bits;
};

struct BFloat16 {
  static constexpr std::uint16_t kInfinity = 0x7f80;
  static constexpr std::uint16_t kQuietNaN = 0x7fc0;
  std::uint16_t bits;
};

// The float32 bits of the same value. The payload of a NaN moves to the top,
// and a signalling one stays one.
inline std::uint32_t WidenedBits(Float16 half) {
  constexpr std::uint32_t kRebias = std::uint32_t{127 - 15} << 23;
  const std::uint32_t sign = std::uint32_t{half.bits & 0x8000u} << 16;
  const std::uint32_t magnitude = half.bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + kRebias;
  const std::uint32_t special = normal + kRebias;
  const auto subnormal = __builtin_bit_cast(
      std::uint32_t,
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  return sign | (magnitude < 0x0400u
                     ? subnormal
                     : (magnitude >= Float16::kInfinity ? special : normal));
}

inline std::uint32_t WidenedBits(BFloat16 value) {
  return std::uint32_t{value.bits} << 16;
}

// The nearest, ties to even. A NaN keeps its sign alone.
inline Float16 Nearest(float value, Float16 /*type*/) {
  constexpr std::int32_t kRebias = (127 - 15) << 23;
  const auto bits = __builtin_bit_cast(std::int32_t, value);
  const std::int32_t magnitude = bits & 0x7fffffff;
  // Half a unit of the last place, a little less where that is even already.
  const std::int32_t normal =
      (magnitude - kRebias + 0x0fff + ((magnitude >> 13) & 1)) >> 13;
  // The units of a float32 between 0.5 and 1 are those of subnormal halves, so
  // that the addition rounds to them.
  const std::int32_t subnormal =
      __builtin_bit_cast(std::int32_t,
                         __builtin_bit_cast(float, magnitude) + 0.5f) -
      __builtin_bit_cast(std::int32_t, 0.5f);
  const std::int32_t finite = magnitude < (127 - 14) << 23 ? subnormal : normal;
  const std::int32_t large =
      magnitude > 0x7f800000 ? Float16::kQuietNaN : Float16::kInfinity;
  // From 2^16 on; what rounds up to it has carried into the exponent.
  const std::int32_t rounded = magnitude >= (127 + 16) << 23 ? large : finite;
  return {static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | rounded)};
}

// The nearest, ties to even, of a value that is no NaN or one that was
// widened from a bfloat16: others could round to something else.
inline BFloat16 Nearest(float value, BFloat16 /*type*/) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t odd = (bits >> 16) & 1u;
  return {static_cast<std::uint16_t>((bits + 0x7fffu + odd) >> 16)};
}

// A NaN without its payload, anything else as it is.
template <typename Sixteen>
Sixteen WithoutPayload(Sixteen value) {
  if ((value.bits & 0x7fffu) <= Sixteen::kInfinity) return value;
  return {
      static_cast<std::uint16_t>((value.bits & 0x8000u) | Sixteen::kQuietNaN)};
}

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_SIXTEEN_BITS_H_
