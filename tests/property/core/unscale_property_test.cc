// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "lossscaler/core/unscale.h"
#include "lossscaler/core/unscale_fragments.h"
#include "lossscaler/core/unscale_on.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "testing/naive_unscale.h"

namespace lossscaler {
namespace {

using testing::Bits;
using testing::NaiveResult;
using testing::NaiveUnscale;
using testing::Pack;
using testing::SizeOf;
using testing::Unpack;

struct Case {
  ElementType input_type;
  ElementType output_type;
  std::vector<Bits> elements;
  UnscaleParameters parameters;
};

// Long enough to cross blocks; half of the cases without NaN and infinity.
Case AnyCase() {
  Case any;
  any.input_type =
      *rc::gen::element(ElementType::kFloat32, ElementType::kFloat16,
                        ElementType::kBFloat16, ElementType::kFloat64);
  any.output_type = *rc::gen::element(any.input_type, WideType(any.input_type));
  any.elements.resize(*rc::gen::inRange<std::size_t>(0, 3000));
  const bool finite = *rc::gen::arbitrary<bool>();
  const int shift = 64 - static_cast<int>(8 * SizeOf(any.input_type));
  std::uint64_t state = *rc::gen::arbitrary<std::uint64_t>();
  for (Bits& element : any.elements) {
    // A linear congruential generator: its high bits are good enough, and
    // shrinking thousands of elements one by one would take hours.
    state = state * 6364136223846793005u + 1442695040888963407u;
    element = state >> shift;
    // Clearing the highest bit of the exponent leaves values below 2.
    if (finite) {
      element &= ~(Bits{1} << (8 * SizeOf(any.input_type) - 2));
    }
  }
  // Any normal float32 is a scale.
  any.parameters.scale = std::bit_cast<float>(
      *rc::gen::inRange<std::uint32_t>(0x00800000, 0x7f800000));
  any.parameters.arithmetic = *rc::gen::element(
      UnscaleArithmetic::kDivide, UnscaleArithmetic::kMultiplyByReciprocal);
  return any;
}

bool SumsAgree(double a, double b, ElementType type) {
  if (a == b) return true;
  const double tolerance = type == ElementType::kFloat64 ? 1e-11 : 0x1p-16;
  return std::fabs(a - b) <= tolerance * std::fmax(a, b);
}

RC_GTEST_PROP(UnscaleProperty, EveryKernelEqualsTheNaiveLoop, ()) {
  const Case any = AnyCase();
  const NaiveResult expected = NaiveUnscale(any.input_type, any.elements,
                                            any.output_type, 0, any.parameters);
  const std::vector<std::byte> input = Pack(any.input_type, any.elements);
  for (const RunnableKernel& kernel : RunnableKernels()) {
    std::vector<std::byte> output(any.elements.size() *
                                  SizeOf(any.output_type));
    UnscaleVerdict verdict =
        UnscaleOn(kernel, any.input_type, input.data(), any.elements.size(),
                  any.output_type, output.data(), 0, any.parameters);
    RC_ASSERT(Unpack(any.output_type, output) == expected.elements);
    RC_ASSERT(SumsAgree(verdict.sum_of_squares, expected.verdict.sum_of_squares,
                        any.input_type));
    verdict.sum_of_squares = expected.verdict.sum_of_squares;
    RC_ASSERT(verdict == expected.verdict);
  }
}

RC_GTEST_PROP(UnscaleProperty, AnyCutMergesToTheWhole, ()) {
  const Case any = AnyCase();
  const std::vector<std::byte> input = Pack(any.input_type, any.elements);
  const std::size_t count = any.elements.size();
  const UnscaleVerdict whole =
      Unscale(any.input_type, input.data(), count, any.output_type, nullptr, 0,
              any.parameters);

  UnscaleVerdict merged;
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t length =
        *rc::gen::inRange<std::size_t>(1, count - begin + 1);
    merged.Merge(Unscale(any.input_type,
                         input.data() + begin * SizeOf(any.input_type), length,
                         any.output_type, nullptr, begin, any.parameters));
    begin += length;
  }
  RC_ASSERT(
      SumsAgree(merged.sum_of_squares, whole.sum_of_squares, any.input_type));
  merged.sum_of_squares = whole.sum_of_squares;
  RC_ASSERT(merged == whole);
}

RC_GTEST_PROP(UnscaleProperty, AnyPiecesEqualTheNaiveLoop, ()) {
  const Case any = AnyCase();
  const NaiveResult expected = NaiveUnscale(any.input_type, any.elements,
                                            any.output_type, 0, any.parameters);
  const std::vector<std::byte> input = Pack(any.input_type, any.elements);
  const std::string_view whole(reinterpret_cast<const char*>(input.data()),
                               input.size());
  std::vector<std::string_view> pieces;
  for (std::size_t begin = 0; begin < whole.size();) {
    // Mostly a few bytes, and empty ones among them.
    const std::size_t most = *rc::gen::element<std::size_t>(1, 9, 200, 9000);
    pieces.push_back(
        whole.substr(begin, *rc::gen::inRange<std::size_t>(0, most + 1)));
    begin += pieces.back().size();
  }
  std::vector<std::byte> output(any.elements.size() * SizeOf(any.output_type));
  UnscaleVerdict verdict =
      UnscaleFragments(any.input_type, pieces, any.output_type, output.data(),
                       0, any.parameters);
  RC_ASSERT(Unpack(any.output_type, output) == expected.elements);
  RC_ASSERT(SumsAgree(verdict.sum_of_squares, expected.verdict.sum_of_squares,
                      any.input_type));
  verdict.sum_of_squares = expected.verdict.sum_of_squares;
  RC_ASSERT(verdict == expected.verdict);
}

}  // namespace
}  // namespace lossscaler
