// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/element_type.h"

#include <cmath>

namespace lossscaler {

std::size_t ElementSize(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return 4;
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 2;
    case ElementType::kFloat64:
      return 8;
  }
  return 0;
}

std::string_view ElementTypeName(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kBFloat16:
      return "bfloat16";
    case ElementType::kFloat64:
      return "float64";
  }
  return "unknown";
}

ElementType WideType(ElementType type) {
  return ElementSize(type) == 2 ? ElementType::kFloat32 : type;
}

bool IsFiniteIn(ElementType type, float value) {
  const float magnitude = std::fabs(value);
  switch (type) {
    case ElementType::kFloat16:
      return magnitude < 65520.0f;
    case ElementType::kBFloat16:
      return magnitude < 0x1.FFp127f;
    case ElementType::kFloat32:
    case ElementType::kFloat64:
      break;
  }
  return std::isfinite(value);
}

}  // namespace lossscaler
