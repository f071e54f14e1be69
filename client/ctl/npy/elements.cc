// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/elements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "Eigen/Core"

namespace lossscaler::ctl {
namespace {

template <typename T>
T Load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

template <typename T>
std::string NumberText(T value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 64> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

template <std::size_t kSize>
void Swap(std::uint64_t count, std::byte* elements) {
  for (std::uint64_t i = 0; i < count; ++i, elements += kSize) {
    std::reverse(elements, elements + kSize);
  }
}

}  // namespace

Elements AllocateElements(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
  return Elements(
      static_cast<std::byte*>(std::malloc(std::max<std::size_t>(bytes, 1))));
}

void SwapBytes(ElementType type, std::uint64_t count, std::byte* elements) {
  switch (ElementSize(type)) {
    case 2:
      return Swap<2>(count, elements);
    case 4:
      return Swap<4>(count, elements);
    default:
      return Swap<8>(count, elements);
  }
}

std::string ElementText(ElementType type, const std::byte* element) {
  switch (type) {
    case ElementType::kFloat16:
      return NumberText(static_cast<float>(Load<Eigen::half>(element)));
    case ElementType::kFloat64:
      return NumberText(Load<double>(element));
    default:
      return NumberText(Load<float>(element));
  }
}

}  // namespace lossscaler::ctl
