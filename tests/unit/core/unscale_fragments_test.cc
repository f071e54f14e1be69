// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/unscale_fragments.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/naive_unscale.h"

namespace lossscaler {
namespace {

using testing::Bits;
using testing::NaiveResult;
using testing::NaiveUnscale;
using testing::NearestOf;
using ::testing::Optional;
using testing::Pack;
using testing::SizeOf;
using testing::Unpack;

struct PieceTypes {
  ElementType input;
  ElementType output;
};

// A byte past the alignment that allocation gives, so that pieces are never
// aligned.
struct Memory {
  explicit Memory(const std::vector<std::byte>& packed) : bytes(1) {
    bytes.insert(bytes.end(), packed.begin(), packed.end());
  }
  std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1};
  }
  std::vector<std::byte> bytes;
};

// The pieces between ascending `cuts`.
std::vector<std::string_view> CutAt(std::string_view whole,
                                    const std::vector<std::size_t>& cuts) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    pieces.push_back(whole.substr(begin, cut - begin));
    begin = cut;
  }
  pieces.push_back(whole.substr(begin));
  return pieces;
}

double SumTolerance(ElementType input_type, const UnscaleVerdict& expected) {
  return std::fabs(expected.sum_of_squares) *
         (input_type == ElementType::kFloat64
              ? static_cast<double>(expected.element_count) * 0x1p-53
              : 0x1p-17);
}

bool SumsAgree(double actual, double expected, double tolerance) {
  return actual == expected || std::fabs(actual - expected) <= tolerance;
}

class UnscaleFragmentsTest : public ::testing::TestWithParam<PieceTypes> {
 protected:
  // Compares with the naive loop and with Unscale() on the bytes in one piece,
  // with an output and without.
  void ExpectAsInOnePiece(const std::vector<Bits>& elements,
                          std::string_view whole, Fragments pieces,
                          std::uint64_t first_index,
                          const UnscaleParameters& parameters) {
    const auto [input, output] = GetParam();
    const NaiveResult expected =
        NaiveUnscale(input, elements, output, first_index, parameters);
    UnscaleVerdict joined = Unscale(input, whole.data(), elements.size(),
                                    output, nullptr, first_index, parameters);
    constexpr std::byte kGuard{0xa5};
    const std::size_t bytes = elements.size() * SizeOf(output);
    std::vector<std::byte> stored(bytes + 8, kGuard);
    const UnscaleVerdict checked = UnscaleFragments(
        input, pieces, output, nullptr, first_index, parameters);
    UnscaleVerdict verdict = UnscaleFragments(
        input, pieces, output, stored.data(), first_index, parameters);
    EXPECT_EQ(verdict, checked) << "without an output";

    const double tolerance = SumTolerance(input, expected.verdict);
    EXPECT_TRUE(SumsAgree(verdict.sum_of_squares,
                          expected.verdict.sum_of_squares, tolerance));
    EXPECT_TRUE(SumsAgree(verdict.sum_of_squares, joined.sum_of_squares,
                          2 * tolerance));
    joined.sum_of_squares = expected.verdict.sum_of_squares;
    verdict.sum_of_squares = expected.verdict.sum_of_squares;
    EXPECT_EQ(verdict, expected.verdict);
    EXPECT_EQ(verdict, joined);

    EXPECT_TRUE(std::all_of(stored.begin() + bytes, stored.end(),
                            [](std::byte byte) { return byte == kGuard; }))
        << "written past the end";
    EXPECT_EQ(Unpack(output, std::span(stored).first(bytes)),
              expected.elements);
  }

  std::vector<Bits> SmallElements() const {
    const ElementType type = GetParam().input;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {NearestOf(type, 1.0),        NearestOf(type, -3.5),
            NearestOf(type, 0.0),        Bits{1},
            NearestOf(type, -kInfinity), NearestOf(type, 1000.0)};
  }
};

INSTANTIATE_TEST_SUITE_P(
    Unscale, UnscaleFragmentsTest,
    ::testing::Values(PieceTypes{ElementType::kFloat32, ElementType::kFloat32},
                      PieceTypes{ElementType::kFloat16, ElementType::kFloat32},
                      PieceTypes{ElementType::kFloat16, ElementType::kFloat16},
                      PieceTypes{ElementType::kBFloat16, ElementType::kFloat32},
                      PieceTypes{ElementType::kBFloat16,
                                 ElementType::kBFloat16},
                      PieceTypes{ElementType::kFloat64, ElementType::kFloat64}),
    [](const auto& pair) {
      return std::string(ElementTypeName(pair.param.input)) + "_to_" +
             std::string(ElementTypeName(pair.param.output));
    });

TEST_P(UnscaleFragmentsTest, IsTheSameInThreePiecesCutAnywhere) {
  const std::vector<Bits> elements = SmallElements();
  const Memory memory(Pack(GetParam().input, elements));
  const std::string_view whole = memory.view();
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    for (std::size_t second = first; second <= whole.size(); ++second) {
      ExpectAsInOnePiece(elements, whole, CutAt(whole, {first, second}), 1000,
                         {.scale = 3.0});
      if (HasFailure()) FAIL() << "cut at " << first << " and " << second;
    }
  }
}

TEST_P(UnscaleFragmentsTest, IsTheSameInPiecesOfAnyLength) {
  const std::vector<Bits> elements = SmallElements();
  const Memory memory(Pack(GetParam().input, elements));
  for (std::size_t length = 1; length <= 17; ++length) {
    std::vector<std::size_t> cuts;
    for (std::size_t cut = length; cut < memory.view().size(); cut += length) {
      cuts.push_back(cut);
    }
    ExpectAsInOnePiece(elements, memory.view(), CutAt(memory.view(), cuts), 0,
                       {.scale = 65536.0, .statistics = length % 2 == 0});
    if (HasFailure()) FAIL() << "pieces of " << length;
  }
}

TEST_P(UnscaleFragmentsTest, TakesEmptyAndNullPiecesWithinAnElement) {
  const std::vector<Bits> elements = SmallElements();
  const Memory memory(Pack(GetParam().input, elements));
  std::vector<std::string_view> pieces = {std::string_view()};
  for (std::size_t i = 0; i < memory.view().size(); ++i) {
    pieces.push_back(memory.view().substr(i, 1));
    pieces.emplace_back();
    pieces.push_back(memory.view().substr(i, 0));
  }
  ExpectAsInOnePiece(elements, memory.view(), pieces, 0, {.scale = 2.0});
}

TEST_P(UnscaleFragmentsTest, FindsTheFirstBadElementWhereItStraddles) {
  const auto [input, output] = GetParam();
  std::vector<Bits> elements(40, NearestOf(input, 1.0));
  elements[17] = NearestOf(input, std::numeric_limits<double>::quiet_NaN());
  elements[30] = elements[17];
  const Memory memory(Pack(input, elements));
  const UnscaleVerdict verdict = UnscaleFragments(
      input, CutAt(memory.view(), {17 * SizeOf(input) + 1, 30 * SizeOf(input)}),
      output, nullptr, 5'000'000'000u, {.scale = 2.0});
  EXPECT_THAT(verdict.first_bad_index, Optional(5'000'000'017u));
  EXPECT_EQ(verdict.nan_count, 2u);
}

TEST_P(UnscaleFragmentsTest, IsTheSameHoweverManyBlocksAreCut) {
  std::mt19937_64 random(20260103);
  const ElementType type = GetParam().input;
  const std::size_t bits = 8 * SizeOf(type);
  for (int round = 0; round < 40; ++round) {
    std::vector<Bits> elements(1 + random() % 9000);
    const bool finite = round % 2 == 0;
    for (Bits& element : elements) {
      element = random() >> (64 - bits);
      // Without the highest bit of the exponent, it is below 2.
      if (finite) element &= ~(Bits{1} << (bits - 2));
    }
    const Memory memory(Pack(type, elements));
    std::vector<std::size_t> cuts(random() % 30);
    for (std::size_t& cut : cuts) cut = random() % (memory.view().size() + 1);
    std::sort(cuts.begin(), cuts.end());
    const UnscaleParameters parameters = {
        .scale = round % 3 == 0 ? 65536.0 : 7919.0,
        .arithmetic = round % 5 == 0 ? UnscaleArithmetic::kMultiplyByReciprocal
                                     : UnscaleArithmetic::kDivide,
        .statistics = round % 7 != 0};
    ExpectAsInOnePiece(elements, memory.view(), CutAt(memory.view(), cuts),
                       random() % 1000, parameters);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST_P(UnscaleFragmentsTest, KeepsEveryBitAtScaleOne) {
  const auto [input, output] = GetParam();
  const Bits infinity =
      NearestOf(input, std::numeric_limits<double>::infinity());
  // Signalling NaNs with a payload.
  const std::vector<Bits> elements = {infinity | 1, infinity | 5, Bits{3}};
  const Memory memory(Pack(input, elements));
  for (std::size_t cut = 0; cut <= memory.view().size(); ++cut) {
    ExpectAsInOnePiece(elements, memory.view(), CutAt(memory.view(), {cut}), 0,
                       {.scale = 1.0});
  }
}

TEST(UnscaleNoFragmentsTest, FindsNothing) {
  EXPECT_EQ(UnscaleFragments(ElementType::kFloat32, {}, ElementType::kFloat32,
                             nullptr, 7, {.scale = 2.0}),
            UnscaleVerdict());
  const std::string_view null;
  EXPECT_EQ(UnscaleFragments(ElementType::kFloat16, Fragments(&null, 1),
                             ElementType::kFloat32, nullptr, 7, {.scale = 2.0}),
            UnscaleVerdict());
}

}  // namespace
}  // namespace lossscaler
