// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What is done to a gradient, by values and by packets; and which gradients
// come out as zero.
//
// Included by kernels alone, after Eigen: see unscale_kernel.h.

#ifndef LOSSSCALER_CORE_UNSCALE_OPERATION_H_
#define LOSSSCALER_CORE_UNSCALE_OPERATION_H_

#include <cstddef>
#include <cstdint>

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/vanished_counter.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

// What the arithmetic of a stored type is done in.
template <typename Stored>
struct ArithmeticOf {
  using Type = float;
};
template <>
struct ArithmeticOf<double> {
  using Type = double;
};
template <typename Stored>
using Arithmetic = typename ArithmeticOf<Stored>::Type;

template <std::size_t kSize>
struct Unsigned {
  using Type = std::uint32_t;
};
template <>
struct Unsigned<8> {
  using Type = std::uint64_t;
};
template <std::size_t kSize>
using UnsignedOf = typename Unsigned<kSize>::Type;

// The operations. Each is given a value, or a packet of them, and returns it
// unscaled.
template <typename T>
struct Keep {
  static constexpr bool kChanges = false;
  explicit Keep(double /*factor*/) {}
  T operator()(T value) const { return value; }
  Packet<T> OfPacket(const Packet<T>& value) const { return value; }
};

template <typename T>
struct Multiply {
  static constexpr bool kChanges = true;
  explicit Multiply(double multiplier) : factor(static_cast<T>(multiplier)) {}
  T operator()(T value) const { return value * factor; }
  Packet<T> OfPacket(const Packet<T>& value) const {
    return Eigen::internal::pmul(value,
                                 Eigen::internal::pset1<Packet<T>>(factor));
  }
  T factor;
};

template <typename T>
struct Divide {
  static constexpr bool kChanges = true;
  explicit Divide(double divisor) : factor(static_cast<T>(divisor)) {}
  T operator()(T value) const { return value / factor; }
  Packet<T> OfPacket(const Packet<T>& value) const {
    return Eigen::internal::pdiv(value,
                                 Eigen::internal::pset1<Packet<T>>(factor));
  }
  T factor;
};

inline bool IsStoredAsZero(float value, float /*stored_type*/) {
  return value == 0.0f;
}
inline bool IsStoredAsZero(double value, double /*stored_type*/) {
  return value == 0.0;
}
template <typename Sixteen>
bool IsStoredAsZero(float value, Sixteen stored_type) {
  return Nearest(value, stored_type).bits == 0;
}

template <typename Out, typename Operation>
Arithmetic<Out> LargestThatVanishes(const Operation& operation) {
  using T = Arithmetic<Out>;
  using Bits = UnsignedOf<sizeof(T)>;
  if constexpr (!Operation::kChanges) return T{0};
  return LargestThat<T, Bits>(
      [&](T value) { return IsStoredAsZero(operation(value), Out{}); });
}

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_OPERATION_H_
