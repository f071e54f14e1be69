// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/unscale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/unscale_on.h"
#include "testing/naive_unscale.h"

namespace lossscaler {
namespace {

using testing::Bits;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NaiveResult;
using testing::NaiveUnscale;
using testing::NearestOf;
using ::testing::Not;
using ::testing::Optional;
using testing::Pack;
using testing::SizeOf;
using testing::Unpack;
using testing::ValueOf;

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr ElementType kF16 = ElementType::kFloat16;
constexpr ElementType kBF16 = ElementType::kBFloat16;
constexpr ElementType kF64 = ElementType::kFloat64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class Place { kOutOfPlace, kInPlace, kCheckOnly };

struct Unscaled {
  std::vector<Bits> elements;
  UnscaleVerdict verdict;
};

// Runs a kernel on memory that starts `misalignment` bytes past a boundary,
// and checks that nothing else is touched.
Unscaled RunKernel(const RunnableKernel& kernel, ElementType input_type,
                   const std::vector<Bits>& input, ElementType output_type,
                   const UnscaleParameters& parameters,
                   Place place = Place::kOutOfPlace,
                   std::size_t misalignment = 0,
                   std::uint64_t first_index = 0) {
  constexpr std::byte kGuard{0xa5};
  const std::vector<std::byte> packed = Pack(input_type, input);
  std::vector<std::byte> source(misalignment + packed.size() + 8, kGuard);
  std::copy(packed.begin(), packed.end(), source.begin() + misalignment);
  const std::size_t output_bytes = input.size() * SizeOf(output_type);
  std::vector<std::byte> target(misalignment + output_bytes + 8, kGuard);

  std::vector<std::byte>& stored = place == Place::kInPlace ? source : target;
  Unscaled outcome;
  outcome.verdict = UnscaleOn(
      kernel, input_type, source.data() + misalignment, input.size(),
      output_type,
      place == Place::kCheckOnly ? nullptr : stored.data() + misalignment,
      first_index, parameters);
  if (place != Place::kInPlace) {
    EXPECT_TRUE(
        std::equal(packed.begin(), packed.end(), source.begin() + misalignment))
        << "the input was changed";
  }
  if (place != Place::kCheckOnly) {
    outcome.elements = Unpack(
        output_type, std::span(stored).subspan(misalignment, output_bytes));
    for (std::size_t i = misalignment + output_bytes; i < stored.size(); ++i) {
      EXPECT_EQ(stored[i], kGuard) << "written past the end";
    }
  }
  return outcome;
}

// The kernel that Unscale() takes.
Unscaled RunKernel(ElementType input_type, const std::vector<Bits>& input,
                   ElementType output_type, const UnscaleParameters& parameters,
                   Place place = Place::kOutOfPlace,
                   std::size_t misalignment = 0,
                   std::uint64_t first_index = 0) {
  return RunKernel(RunnableKernels().front(), input_type, input, output_type,
                   parameters, place, misalignment, first_index);
}

std::vector<Bits> Elements(ElementType type, std::vector<double> values) {
  std::vector<Bits> elements;
  for (double value : values) elements.push_back(NearestOf(type, value));
  return elements;
}

UnscaleVerdict VerdictOf(ElementType type, std::vector<double> values,
                         double scale, std::uint64_t first_index = 0) {
  return RunKernel(type, Elements(type, std::move(values)), type,
                   {.scale = scale}, Place::kOutOfPlace, 0, first_index)
      .verdict;
}

// The documented tolerance of sum_of_squares.
double SumTolerance(ElementType input_type, double sum, std::size_t count) {
  const double relative =
      input_type == kF64 ? static_cast<double>(count) * 0x1p-53 : 0x1p-17;
  return std::fabs(sum) * relative;
}

void ExpectSame(const UnscaleVerdict& actual, const UnscaleVerdict& expected,
                ElementType input_type) {
  UnscaleVerdict exact = actual;
  exact.sum_of_squares = expected.sum_of_squares;
  EXPECT_EQ(exact, expected);
  if (std::isinf(expected.sum_of_squares)) {
    EXPECT_EQ(actual.sum_of_squares, expected.sum_of_squares);
  } else {
    EXPECT_THAT(actual.sum_of_squares,
                DoubleNear(expected.sum_of_squares,
                           SumTolerance(input_type, expected.sum_of_squares,
                                        expected.element_count)));
  }
}

// Bit patterns of three moods: anything at all; gradients as they come, zeros
// and subnormals among them; gradients with one bad element.
std::vector<Bits> RandomElements(ElementType type, std::size_t count,
                                 std::mt19937_64& random) {
  const std::size_t bits = 8 * SizeOf(type);
  const Bits mask = bits == 64 ? ~Bits{0} : (Bits{1} << bits) - 1;
  const auto mood = random() % 3;
  std::vector<Bits> elements(count);
  for (Bits& element : elements) {
    element = random() & mask;
    if (mood == 0) continue;
    switch (random() % 8) {
      case 0:
        element = 0;
        break;
      case 1:
        // Subnormal, of either sign.
        element = NearestOf(type, 0.0) | (element & 0x3f) |
                  (element & (Bits{1} << (bits - 1)));
        break;
      default: {
        const double unit =
            static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
        element =
            NearestOf(type, std::ldexp(unit, static_cast<int>(random() % 20)));
      }
    }
  }
  if (mood == 2 && count > 0) {
    const Bits bad[] = {NearestOf(type, kNaN), NearestOf(type, kInfinity),
                        NearestOf(type, -kInfinity),
                        // A signalling NaN with a payload.
                        NearestOf(type, kInfinity) | 5};
    elements[random() % count] = bad[random() % 4];
  }
  return elements;
}

struct Types {
  ElementType input;
  ElementType output;
};

void PrintTo(const Types& types, std::ostream* os) {
  *os << ElementTypeName(types.input) << " to "
      << ElementTypeName(types.output);
}

using TypesAndKernel = std::tuple<Types, RunnableKernel>;

class EveryTypePair : public ::testing::TestWithParam<TypesAndKernel> {
 protected:
  ElementType input_type() const { return std::get<0>(GetParam()).input; }
  ElementType output_type() const { return std::get<0>(GetParam()).output; }
  const RunnableKernel& kernel() const { return std::get<1>(GetParam()); }
};

std::string NameOf(const ::testing::TestParamInfo<TypesAndKernel>& tested) {
  const auto& [types, kernel] = tested.param;
  return std::string(ElementTypeName(types.input)) + "To" +
         std::string(ElementTypeName(types.output)) + "_" +
         std::string(kernel.name);
}

INSTANTIATE_TEST_SUITE_P(
    Unscale, EveryTypePair,
    ::testing::Combine(::testing::Values(Types{kF32, kF32}, Types{kF16, kF32},
                                         Types{kF16, kF16}, Types{kBF16, kF32},
                                         Types{kBF16, kBF16},
                                         Types{kF64, kF64}),
                       ::testing::ValuesIn(RunnableKernels().begin(),
                                           RunnableKernels().end())),
    NameOf);

TEST_P(EveryTypePair, GivesTheBitsOfTheNaiveLoopAtEveryLengthScaleAndPlace) {
  std::mt19937_64 random(20260101);
  std::vector<std::size_t> counts;
  for (std::size_t count = 0; count <= 300; ++count) counts.push_back(count);
  for (std::size_t count : {1023, 1024, 1025, 2047, 2048, 2049, 5000}) {
    counts.push_back(count);
  }
  for (double scale :
       {65536.0, 1.0, 3.0, 0.5, 1e-3, 7919.0, 0x1p-126, 0x1p127}) {
    for (UnscaleArithmetic arithmetic :
         {UnscaleArithmetic::kDivide,
          UnscaleArithmetic::kMultiplyByReciprocal}) {
      for (std::size_t count : counts) {
        const UnscaleParameters parameters = {.scale = scale,
                                              .arithmetic = arithmetic,
                                              .statistics = count % 8 != 7};
        const std::vector<Bits> input =
            RandomElements(input_type(), count, random);
        const std::uint64_t first_index = random() % 1000;
        const NaiveResult expected = NaiveUnscale(
            input_type(), input, output_type(), first_index, parameters);
        for (Place place :
             {Place::kOutOfPlace, Place::kInPlace, Place::kCheckOnly}) {
          if (place == Place::kInPlace && input_type() != output_type()) {
            continue;
          }
          const std::size_t misalignment = random() % 8;
          SCOPED_TRACE(::testing::Message()
                       << count << " elements, scale " << scale
                       << ", arithmetic " << static_cast<int>(arithmetic)
                       << ", place " << static_cast<int>(place)
                       << ", misaligned by " << misalignment);
          const Unscaled actual =
              RunKernel(kernel(), input_type(), input, output_type(),
                        parameters, place, misalignment, first_index);
          ExpectSame(actual.verdict, expected.verdict, input_type());
          if (place != Place::kCheckOnly) {
            ASSERT_EQ(actual.elements, expected.elements);
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(EveryTypePair, FindsOneBadElementWhereverItIs) {
  constexpr std::size_t kCount = 2100;
  for (std::size_t bad = 0; bad < kCount; bad += 7) {
    std::vector<Bits> input(kCount, NearestOf(input_type(), 1.0));
    input[bad] = NearestOf(input_type(), -kInfinity);
    for (bool statistics : {true, false}) {
      const UnscaleVerdict verdict =
          RunKernel(kernel(), input_type(), input, output_type(),
                    {.scale = 4.0, .statistics = statistics}, Place::kCheckOnly)
              .verdict;
      ASSERT_EQ(verdict.negative_infinity_count, 1u);
      ASSERT_THAT(verdict.first_bad_index, Optional(bad));
    }
  }
}

TEST_P(EveryTypePair, NeedsNoAlignment) {
  std::mt19937_64 random(20260102);
  for (std::size_t misalignment = 0; misalignment < 64; ++misalignment) {
    const std::vector<Bits> input = RandomElements(input_type(), 1100, random);
    const UnscaleParameters parameters = {.scale = 7919.0};
    const NaiveResult expected =
        NaiveUnscale(input_type(), input, output_type(), 0, parameters);
    const Unscaled actual =
        RunKernel(kernel(), input_type(), input, output_type(), parameters,
                  Place::kOutOfPlace, misalignment);
    ASSERT_EQ(actual.elements, expected.elements) << misalignment;
    ExpectSame(actual.verdict, expected.verdict, input_type());
  }
}

// Elements around the largest that may vanish: half of the smallest number, as
// it was before the division. In 16 bits, all there are.
std::vector<Bits> ElementsThatMayVanish(ElementType type, double scale) {
  std::vector<Bits> elements;
  if (SizeOf(type) == 2) {
    elements.resize(65536);
    std::iota(elements.begin(), elements.end(), Bits{0});
    return elements;
  }
  const double smallest = type == kF64 ? 0x1p-1074 : 0x1p-149;
  const Bits edge = NearestOf(type, scale / 2 * smallest);
  elements.resize(std::min(edge, Bits{50}) + 50);
  std::iota(elements.begin(), elements.end(), edge - std::min(edge, Bits{50}));
  const Bits sign = Bits{1} << (8 * SizeOf(type) - 1);
  for (std::size_t i = 0; i < elements.size(); i += 3) elements[i] |= sign;
  return elements;
}

TEST_P(EveryTypePair, CountsWhatVanishesUpToTheLastBit) {
  for (double scale : {65536.0, 3.0, 7919.0, 2.0, 0x1p127, 1.5, 0.75}) {
    for (UnscaleArithmetic arithmetic :
         {UnscaleArithmetic::kDivide,
          UnscaleArithmetic::kMultiplyByReciprocal}) {
      const UnscaleParameters parameters = {
          .scale = scale, .arithmetic = arithmetic, .statistics = false};
      const std::vector<Bits> input =
          ElementsThatMayVanish(input_type(), scale);
      const NaiveResult expected =
          NaiveUnscale(input_type(), input, output_type(), 0, parameters);
      const Unscaled actual =
          RunKernel(kernel(), input_type(), input, output_type(), parameters);
      ASSERT_EQ(actual.elements, expected.elements) << scale;
      ASSERT_EQ(actual.verdict, expected.verdict) << scale;
    }
  }
}

TEST(RunnableKernelsTest, EndWithTheOneForEveryMachine) {
  ASSERT_FALSE(RunnableKernels().empty());
  EXPECT_EQ(RunnableKernels().back().name, "portable");
}

#if defined(__x86_64__) && defined(__linux__)
TEST(RunnableKernelsTest, BeginWithTheWideOneWhereLinuxKnowsTheProcessorHasIt) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  ASSERT_TRUE(line.starts_with("flags")) << "/proc/cpuinfo has no flags";
  line += " ";
  const bool wide = line.find(" avx2 ") != std::string::npos &&
                    line.find(" f16c ") != std::string::npos;
  EXPECT_EQ(RunnableKernels().front().name == "avx2", wide) << line;
}
#endif

TEST(UnscaleTest, CountsEachKindOfNonFiniteResultAndLocatesTheFirst) {
  const UnscaleVerdict verdict =
      VerdictOf(kF32, {kNaN, kInfinity, -kInfinity, 1.0}, 2.0);
  EXPECT_EQ(verdict.element_count, 4u);
  EXPECT_EQ(verdict.nan_count, 1u);
  EXPECT_EQ(verdict.positive_infinity_count, 1u);
  EXPECT_EQ(verdict.negative_infinity_count, 1u);
  EXPECT_THAT(verdict.first_bad_index, Optional(0u));
  EXPECT_TRUE(verdict.overflow());
  EXPECT_EQ(verdict.sum_of_squares, 0.25);
  EXPECT_EQ(verdict.absolute_maximum, 0.5);
}

TEST(UnscaleTest, CountsTheFirstBadIndexFromTheFirstIndexOfTheCall) {
  EXPECT_THAT(
      VerdictOf(kF32, {1.0, 2.0, kNaN}, 2.0, 5'000'000'000u).first_bad_index,
      Optional(5'000'000'002u));
}

TEST(UnscaleTest, OverflowsWhereAFiniteGradientHasNoFiniteQuotient) {
  const UnscaleVerdict verdict = VerdictOf(kF32, {1.0, 3e38, -3e38}, 0.5);
  EXPECT_EQ(verdict.positive_infinity_count, 1u);
  EXPECT_EQ(verdict.negative_infinity_count, 1u);
  EXPECT_THAT(verdict.first_bad_index, Optional(1u));
}

TEST(UnscaleTest, OverflowsWhereTheQuotientDoesNotFitTheStoredType) {
  const std::vector<Bits> input = Elements(kF16, {40000.0});
  EXPECT_TRUE(RunKernel(kF16, input, kF16, {.scale = 0.5}).verdict.overflow());
  const Unscaled wide = RunKernel(kF16, input, kF32, {.scale = 0.5});
  EXPECT_FALSE(wide.verdict.overflow());
  EXPECT_EQ(ValueOf(kF32, wide.elements[0]), 80000.0);
}

TEST(UnscaleTest, HasAFiniteNormWhereFloat32SquaresOverflow) {
  // Squares of 1e20 do not exist in float32.
  const UnscaleVerdict verdict = VerdictOf(kF32, {2e20, 2e20}, 2.0);
  EXPECT_FALSE(verdict.overflow());
  EXPECT_NEAR(std::sqrt(verdict.sum_of_squares), std::sqrt(2.0) * 1e20, 1e14);
}

TEST(UnscaleTest, CountsSquaresThatVanishInFloat32) {
  const UnscaleVerdict verdict =
      VerdictOf(kF32, std::vector<double>(300, 2e-23), 2.0);
  EXPECT_NEAR(verdict.sum_of_squares, 300e-46, 300e-46 * 0x1p-20);
  EXPECT_EQ(verdict.absolute_maximum, static_cast<double>(1e-23f));
}

TEST(UnscaleTest, SumsAtTheEdgesOfTheFloat32RangeWithinTheTolerance) {
  for (double edge : {0x1p-64, 0x1p-63, 0x1p-51, 0x1p-50, 0x1p57, 0x1p58,
                      0x1p59, 0x1p63, 0x1p64}) {
    const double value = edge * 1.25;
    const double expected = 1024 * value * value;
    EXPECT_NEAR(VerdictOf(kF32, std::vector<double>(1024, 2 * value), 2.0)
                    .sum_of_squares,
                expected, expected * 0x1p-17)
        << edge;
  }
}

TEST(UnscaleTest, KeepsTheSumAccurateOverManyBlocks) {
  // One float32 accumulator would stop growing at 2^24.
  constexpr std::size_t kCount = 20'000'000;
  const std::vector<float> ones(kCount, 3.0f);
  const UnscaleVerdict verdict =
      Unscale(kF32, ones.data(), kCount, kF32, nullptr, 0, {.scale = 3.0});
  EXPECT_EQ(verdict.sum_of_squares, 2e7);
}

TEST(UnscaleTest, CountsWhatBecomesZeroIn16Bits) {
  // 2^-24 is the smallest half.
  const std::vector<Bits> input =
      Elements(kF16, {0x1p-24, -0x1p-24, 0.0, -0.0, 0x1p-20, 0x1p-23});
  const Unscaled narrow = RunKernel(kF16, input, kF16, {.scale = 8.0});
  EXPECT_EQ(narrow.verdict.flushed_to_zero, 3u);
  EXPECT_THAT(narrow.elements,
              ElementsAre(0x0000, 0x8000, 0x0000, 0x8000, 0x0002, 0x0000));
  EXPECT_EQ(
      RunKernel(kF16, input, kF32, {.scale = 8.0}).verdict.flushed_to_zero, 0u);
}

TEST(UnscaleTest, CountsWhatBecomesZeroInFloat32AndFloat64) {
  EXPECT_EQ(VerdictOf(kF32, {0x1p-149, 0.0, 1.0}, 4.0).flushed_to_zero, 1u);
  EXPECT_EQ(VerdictOf(kF64, {0x1p-1074, 0.0, 1.0}, 4.0).flushed_to_zero, 1u);
}

TEST(UnscaleTest, DividesOrMultipliesByTheReciprocal) {
  const std::vector<Bits> five = Elements(kF32, {5.0});
  EXPECT_THAT(RunKernel(kF32, five, kF32, {.scale = 1000.0}).elements,
              ElementsAre(0x3ba3d70a));
  EXPECT_THAT(
      RunKernel(kF32, five, kF32,
                {.scale = 1000.0,
                 .arithmetic = UnscaleArithmetic::kMultiplyByReciprocal})
          .elements,
      ElementsAre(0x3ba3d70b));
}

TEST(UnscaleTest, DividesFloat64InFloat64) {
  EXPECT_EQ(
      ValueOf(kF64, RunKernel(kF64, Elements(kF64, {1.0}), kF64, {.scale = 3.0})
                        .elements[0]),
      1.0 / 3.0);
}

TEST(UnscaleTest, WidensEveryHalfExactlyAtScaleOne) {
  std::vector<Bits> input(65536);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = i;
  const Unscaled outcome = RunKernel(kF16, input, kF32, {.scale = 1.0});
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double expected = ValueOf(kF16, i);
    const double actual = ValueOf(kF32, outcome.elements[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << i;
    } else {
      ASSERT_EQ(actual, expected) << i;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << i;
    }
  }
  EXPECT_EQ(outcome.verdict.nan_count, 2u * 1023u);
  EXPECT_EQ(outcome.verdict.positive_infinity_count, 1u);
  EXPECT_EQ(outcome.verdict.negative_infinity_count, 1u);
  EXPECT_THAT(outcome.verdict.first_bad_index, Optional(0x7c00u));
  EXPECT_EQ(outcome.verdict.absolute_maximum, 65504.0);
}

TEST(UnscaleTest, CopiesEveryBitPatternAtScaleOne) {
  std::vector<Bits> every(65536);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = i;
  for (ElementType type : {kF16, kBF16}) {
    EXPECT_EQ(RunKernel(type, every, type, {.scale = 1.0}).elements, every);
  }
  // Signalling NaNs with payloads.
  EXPECT_THAT(RunKernel(kF32, {0x7fa00001, 0xff800001}, kF32, {.scale = 1.0},
                        Place::kInPlace)
                  .elements,
              ElementsAre(0x7fa00001, 0xff800001));
  EXPECT_THAT(
      RunKernel(kF64, {0xfff0000000000001}, kF64, {.scale = 1.0}).elements,
      ElementsAre(0xfff0000000000001));
}

TEST(UnscaleTest, DetectsAndMeasuresAtScaleOneToo) {
  const UnscaleVerdict verdict = VerdictOf(kF32, {3.0, -4.0, kNaN}, 1.0);
  EXPECT_EQ(verdict.nan_count, 1u);
  EXPECT_EQ(verdict.sum_of_squares, 25.0);
  EXPECT_EQ(verdict.absolute_maximum, 4.0);
}

TEST(UnscaleTest, LeavesOutStatisticsButNotDetection) {
  const UnscaleVerdict verdict =
      RunKernel(kF32, Elements(kF32, {3.0, kInfinity}), kF32,
                {.scale = 1.0, .statistics = false})
          .verdict;
  EXPECT_EQ(verdict.positive_infinity_count, 1u);
  EXPECT_EQ(verdict.sum_of_squares, 0.0);
  EXPECT_EQ(verdict.absolute_maximum, 0.0);
}

TEST(UnscaleTest, AcceptsNoElementsWithoutMemory) {
  EXPECT_EQ(Unscale(kF32, nullptr, 0, kF32, nullptr, 7, {.scale = 2.0}),
            UnscaleVerdict());
}

TEST(CanStoreTest, AllowsTheTypeItselfAndFloat32For16Bits) {
  const std::vector<ElementType> types = {kF32, kF16, kBF16, kF64};
  for (ElementType input : types) {
    for (ElementType output : types) {
      const bool sixteen_to_32 =
          output == kF32 && (input == kF16 || input == kBF16);
      EXPECT_EQ(CanStore(input, output), input == output || sixteen_to_32);
    }
  }
}

TEST(UnscaleVerdictTest, MergeAddsCountsAndKeepsTheFirstIndexAndTheMaximum) {
  UnscaleVerdict a = {.element_count = 10,
                      .nan_count = 1,
                      .positive_infinity_count = 2,
                      .negative_infinity_count = 3,
                      .flushed_to_zero = 4,
                      .first_bad_index = 9,
                      .sum_of_squares = 1.5,
                      .absolute_maximum = 2.0};
  const UnscaleVerdict b = {.element_count = 100,
                            .nan_count = 10,
                            .positive_infinity_count = 20,
                            .negative_infinity_count = 30,
                            .flushed_to_zero = 40,
                            .first_bad_index = 3,
                            .sum_of_squares = 10.0,
                            .absolute_maximum = 1.0};
  const UnscaleVerdict sum = {.element_count = 110,
                              .nan_count = 11,
                              .positive_infinity_count = 22,
                              .negative_infinity_count = 33,
                              .flushed_to_zero = 44,
                              .first_bad_index = 3,
                              .sum_of_squares = 11.5,
                              .absolute_maximum = 2.0};
  a.Merge(b);
  EXPECT_EQ(a, sum);
  a.Merge(UnscaleVerdict());
  EXPECT_EQ(a, sum);
  UnscaleVerdict none;
  none.Merge(sum);
  EXPECT_EQ(none, sum);
}

TEST(UnscaleVerdictTest, OverflowMeansAnyNonFiniteResult) {
  EXPECT_FALSE(UnscaleVerdict().overflow());
  EXPECT_TRUE(UnscaleVerdict{.nan_count = 1}.overflow());
  EXPECT_TRUE(UnscaleVerdict{.positive_infinity_count = 1}.overflow());
  EXPECT_TRUE(UnscaleVerdict{.negative_infinity_count = 1}.overflow());
}

TEST(UnscaleVerdictTest, PrintsWhatWasFound) {
  std::ostringstream clean;
  clean << UnscaleVerdict{.element_count = 12, .absolute_maximum = 0.5};
  EXPECT_THAT(clean.str(), HasSubstr("elements: 12"));
  EXPECT_THAT(clean.str(), HasSubstr("absolute_maximum: 0.5"));
  EXPECT_THAT(clean.str(), Not(HasSubstr("first_bad_index")));
  std::ostringstream bad;
  bad << UnscaleVerdict{.nan_count = 3, .first_bad_index = 77};
  EXPECT_THAT(bad.str(), HasSubstr("nan: 3"));
  EXPECT_THAT(bad.str(), HasSubstr("first_bad_index: 77"));
}

}  // namespace
}  // namespace lossscaler
