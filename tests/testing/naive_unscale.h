// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Unscaling written as plainly as possible, one element at a time: what the
// kernel is compared with. Shares no code with it; 16-bit formats are decoded
// and rounded from their definition.

#ifndef LOSSSCALER_TESTS_TESTING_NAIVE_UNSCALE_H_
#define LOSSSCALER_TESTS_TESTING_NAIVE_UNSCALE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lossscaler/core/element_type.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::testing {

// An element by its bits, in the low bytes.
using Bits = std::uint64_t;

std::size_t SizeOf(ElementType type);

// The value of a bit pattern; exact. NaN keeps its sign only.
double ValueOf(ElementType type, Bits bits);

// The nearest element, ties to even. A NaN becomes the quiet NaN without
// payload, with its sign.
Bits NearestOf(ElementType type, double value);

std::vector<std::byte> Pack(ElementType type, std::span<const Bits> elements);
std::vector<Bits> Unpack(ElementType type, std::span<const std::byte> memory);

struct NaiveResult {
  std::vector<Bits> elements;
  UnscaleVerdict verdict;
};

// Without statistics, sum and maximum stay 0.
NaiveResult NaiveUnscale(ElementType input_type, std::span<const Bits> input,
                         ElementType output_type, std::uint64_t first_index,
                         const UnscaleParameters& parameters);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_NAIVE_UNSCALE_H_
