// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The element types of gradients.

#ifndef LOSSSCALER_CORE_ELEMENT_TYPE_H_
#define LOSSSCALER_CORE_ELEMENT_TYPE_H_

#include <cstddef>
#include <string_view>

namespace lossscaler {

enum class ElementType { kFloat32, kFloat16, kBFloat16, kFloat64 };

// Bytes of one element: 4, 2, 2, 8.
std::size_t ElementSize(ElementType type);

// "float32", "float16", "bfloat16", "float64".
std::string_view ElementTypeName(ElementType type);

// The type that keeps what the scale saved: float32 for 16-bit types,
// otherwise the type itself.
ElementType WideType(ElementType type);

// Whether a finite float32 stays finite when it is rounded to `type`: below
// 65520 for float16, below 2^128 - 2^119 for bfloat16 (half a unit above the
// largest value, where rounding to nearest even goes to infinity).
bool IsFiniteIn(ElementType type, float value);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_ELEMENT_TYPE_H_
