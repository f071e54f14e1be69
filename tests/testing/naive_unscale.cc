// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/naive_unscale.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lossscaler::testing {
namespace {

// IEEE 754 binary interchange formats, as the standard parametrises them.
struct Format {
  int fraction_bits;
  int exponent_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  Bits exponent_mask() const { return (Bits{1} << exponent_bits) - 1; }
  Bits infinity() const { return exponent_mask() << fraction_bits; }
  Bits sign() const { return Bits{1} << (fraction_bits + exponent_bits); }
  Bits fraction_mask() const { return (Bits{1} << fraction_bits) - 1; }
};

Format FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return {23, 8};
    case ElementType::kFloat16:
      return {10, 5};
    case ElementType::kBFloat16:
      return {7, 8};
    case ElementType::kFloat64:
      break;
  }
  return {52, 11};
}

bool IsWide(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

// The fraction of a NaN moves to the top of the wider fraction.
float WidenToFloat(ElementType type, Bits bits) {
  const Format format = FormatOf(type);
  const bool nan = (bits & ~format.sign()) > format.infinity();
  if (!nan) return static_cast<float>(ValueOf(type, bits));
  const Bits sign = (bits & format.sign()) != 0 ? Bits{1} << 31 : 0;
  const Bits fraction = (bits & format.fraction_mask())
                        << (23 - format.fraction_bits);
  return std::bit_cast<float>(
      static_cast<std::uint32_t>(sign | Bits{0x7f800000} | fraction));
}

template <typename T>
T Divide(T value, const UnscaleParameters& parameters) {
  const T scale = static_cast<T>(parameters.scale);
  if (scale == T{1}) return value;
  if (parameters.arithmetic == UnscaleArithmetic::kMultiplyByReciprocal) {
    return value * static_cast<T>(1.0 / parameters.scale);
  }
  return value / scale;
}

void Judge(double before, double after, std::uint64_t index, bool statistics,
           UnscaleVerdict& verdict) {
  ++verdict.element_count;
  if (before != 0.0 && after == 0.0) ++verdict.flushed_to_zero;
  if (std::isnan(after)) {
    ++verdict.nan_count;
  } else if (after == std::numeric_limits<double>::infinity()) {
    ++verdict.positive_infinity_count;
  } else if (after == -std::numeric_limits<double>::infinity()) {
    ++verdict.negative_infinity_count;
  } else if (statistics) {
    verdict.sum_of_squares += after * after;
    if (std::fabs(after) > verdict.absolute_maximum) {
      verdict.absolute_maximum = std::fabs(after);
    }
  }
  if (!std::isfinite(after) && !verdict.first_bad_index) {
    verdict.first_bad_index = index;
  }
}

}  // namespace

std::size_t SizeOf(ElementType type) {
  const Format format = FormatOf(type);
  return static_cast<std::size_t>(1 + format.exponent_bits +
                                  format.fraction_bits) /
         8;
}

double ValueOf(ElementType type, Bits bits) {
  const Format format = FormatOf(type);
  const double sign = (bits & format.sign()) != 0 ? -1.0 : 1.0;
  const Bits exponent = (bits >> format.fraction_bits) & format.exponent_mask();
  const Bits fraction = bits & format.fraction_mask();
  if (exponent == format.exponent_mask()) {
    return std::copysign(fraction == 0
                             ? std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN(),
                         sign);
  }
  const int scale = 1 - format.bias() - format.fraction_bits;
  if (exponent == 0) {
    return std::ldexp(sign * static_cast<double>(fraction), scale);
  }
  return std::ldexp(
      sign * static_cast<double>(fraction + format.fraction_mask() + 1),
      static_cast<int>(exponent) - 1 + scale);
}

Bits NearestOf(ElementType type, double value) {
  if (type == ElementType::kFloat64) return std::bit_cast<Bits>(value);
  const Format format = FormatOf(type);
  const Bits sign = std::signbit(value) ? format.sign() : 0;
  if (std::isnan(value)) {
    return sign | format.infinity() | (Bits{1} << (format.fraction_bits - 1));
  }
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0) return sign;
  if (std::isinf(magnitude)) return sign | format.infinity();
  // In units of the last place, which subnormals share with the smallest
  // normal numbers. A carry out of the fraction is a carry into the exponent.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  const auto units = static_cast<Bits>(
      std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  const Bits biased = (static_cast<Bits>(exponent + format.bias() - 1)
                       << format.fraction_bits) +
                      units;
  return sign | std::min(biased, format.infinity());
}

std::vector<std::byte> Pack(ElementType type, std::span<const Bits> elements) {
  const std::size_t size = SizeOf(type);
  std::vector<std::byte> memory(elements.size() * size);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (std::size_t byte = 0; byte < size; ++byte) {
      memory[i * size + byte] =
          static_cast<std::byte>(elements[i] >> (8 * byte));
    }
  }
  return memory;
}

std::vector<Bits> Unpack(ElementType type, std::span<const std::byte> memory) {
  const std::size_t size = SizeOf(type);
  std::vector<Bits> elements(memory.size() / size);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (std::size_t byte = 0; byte < size; ++byte) {
      elements[i] |= static_cast<Bits>(memory[i * size + byte]) << (8 * byte);
    }
  }
  return elements;
}

NaiveResult NaiveUnscale(ElementType input_type, std::span<const Bits> input,
                         ElementType output_type, std::uint64_t first_index,
                         const UnscaleParameters& parameters) {
  NaiveResult result;
  for (std::size_t i = 0; i < input.size(); ++i) {
    Bits stored = 0;
    if (input_type == ElementType::kFloat64) {
      stored = std::bit_cast<Bits>(
          Divide(std::bit_cast<double>(input[i]), parameters));
    } else {
      const float before =
          IsWide(input_type)
              ? std::bit_cast<float>(static_cast<std::uint32_t>(input[i]))
              : WidenToFloat(input_type, input[i]);
      const float after = Divide(before, parameters);
      if (IsWide(output_type)) {
        stored = std::bit_cast<std::uint32_t>(after);
      } else if (static_cast<float>(parameters.scale) == 1.0f) {
        stored = input[i];
      } else {
        stored = NearestOf(output_type, after);
      }
    }
    result.elements.push_back(stored);
    Judge(ValueOf(input_type, input[i]), ValueOf(output_type, stored),
          first_index + i, parameters.statistics, result.verdict);
  }
  return result;
}

}  // namespace lossscaler::testing
