// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/unscale_plan.h"

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/gradient.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::IsErrorSaying;
using lossscaler::testing::IsOk;

class PlanUnscaleTest : public ::testing::Test {
 protected:
  GradientTensor A() { return InPlace("a", std::span(a_)); }
  GradientTensor B() { return InPlace("b", std::span(b_)); }

  static absl::StatusOr<UnscalePlan> Plan(std::vector<GradientTensor> tensors) {
    return PlanUnscale(tensors);
  }

  std::vector<float> a_ = {1, 2, 3, 4};
  std::vector<float> b_ = {5, 6, 7, 8};
  std::vector<Eigen::half> h_ = std::vector<Eigen::half>(4, Eigen::half(1));
  std::vector<Eigen::half> h2_ = std::vector<Eigen::half>(4, Eigen::half(1));
};

TEST_F(PlanUnscaleTest, TakesTensorsInPlaceAndIntoAnotherBuffer) {
  std::vector<float> result(4);
  const auto plan =
      Plan({A(), Into("b", std::span<const float>(b_), std::span(result))});
  ASSERT_THAT(plan, IsOk());
  EXPECT_FALSE(plan->check_only);
  EXPECT_FALSE(plan->keep_type);
}

TEST_F(PlanUnscaleTest, NamesUnnamedTensorsByTheirIndex) {
  GradientTensor a = A();
  GradientTensor b = B();
  a.name = b.name = "";
  const auto plan = Plan({a, b});
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->tensors[0].name, "#0");
  EXPECT_EQ(plan->tensors[1].name, "#1");
}

TEST_F(PlanUnscaleTest, RefusesACallWithoutTensors) {
  EXPECT_THAT(Plan({}), IsError(Reason::kNoTensors));
}

TEST_F(PlanUnscaleTest, RefusesAnExplicitNameThatEqualsAnIndex) {
  GradientTensor a = A();
  GradientTensor b = B();
  a.name = "#1";
  b.name = "";
  EXPECT_THAT(Plan({a, b}), IsErrorSaying(Reason::kInvalidTensor, "unique"));
}

TEST_F(PlanUnscaleTest, RefusesNamesThatGrpcWouldRefuse) {
  GradientTensor a = A();
  a.name = "\xFF";
  EXPECT_THAT(Plan({a}), IsErrorSaying(Reason::kInvalidTensor, "UTF-8"));
  a.name = std::string(513, 'x');
  EXPECT_THAT(Plan({a}), IsErrorSaying(Reason::kInvalidTensor, "513"));
  a.name = std::string(512, 'x');
  EXPECT_THAT(Plan({a}), IsOk());
}

TEST_F(PlanUnscaleTest, RefusesTensorsWithoutMemory) {
  GradientTensor a = A();
  a.input = nullptr;
  EXPECT_THAT(Plan({a}), IsErrorSaying(Reason::kInvalidTensor, "memory"));
}

// The result's length is an easy mistake; taking it for "only check" would
// leave scaled gradients behind in silence.
TEST_F(PlanUnscaleTest, RefusesAResultOfAnotherLength) {
  std::vector<float> result(3);
  std::vector<float> nothing;
  EXPECT_THAT(Plan({Into("a", std::span(a_), std::span(result))}),
              IsError(Reason::kInvalidTensor));
  EXPECT_THAT(Plan({Into("a", std::span(a_), std::span(nothing))}),
              IsError(Reason::kInvalidTensor));
  EXPECT_THAT(Plan({Into("a", std::span(nothing), std::span(result))}),
              IsError(Reason::kInvalidTensor));
}

TEST_F(PlanUnscaleTest, RefusesMoreElementsThanMemoryHolds) {
  GradientTensor a = A();
  a.inner_size = a.outer_size = std::size_t{1} << 33;
  EXPECT_THAT(Plan({a}), IsError(Reason::kInvalidTensor));
}

TEST_F(PlanUnscaleTest, RefusesTypesThatCannotBeStored) {
  std::vector<double> wide(4);
  EXPECT_THAT(Plan({Into("a", std::span(a_), std::span(wide))}),
              IsErrorSaying(Reason::kInvalidTensor, "float64"));
  EXPECT_THAT(Plan({Into("a", std::span(a_), std::span(h_))}),
              IsErrorSaying(Reason::kInvalidTensor, "float16"));
}

TEST_F(PlanUnscaleTest, RefusesToWidenInPlace) {
  GradientTensor h = InPlace("h", std::span(h_));
  h.output_type = ElementType::kFloat32;
  EXPECT_THAT(Plan({h}), IsErrorSaying(Reason::kInvalidTensor, "in place"));
}

TEST_F(PlanUnscaleTest, AsksThatSixteenBitTensorsAgree) {
  std::vector<float> wide(4);
  const auto keep = Plan({InPlace("h", std::span(h_)), A()});
  ASSERT_THAT(keep, IsOk());
  EXPECT_TRUE(keep->keep_type);
  const auto widen = Plan({Into("h", std::span(h_), std::span(wide)), A()});
  ASSERT_THAT(widen, IsOk());
  EXPECT_FALSE(widen->keep_type);
  EXPECT_THAT(Plan({InPlace("h", std::span(h_)),
                    Into("h2", std::span(h2_), std::span(wide))}),
              IsErrorSaying(Reason::kInvalidTensor, "16-bit"));
}

TEST_F(PlanUnscaleTest, AsksThatAllTensorsOrNoneAreOnlyChecked) {
  const auto check =
      Plan({CheckOnly("a", std::span(a_)), CheckOnly("h", std::span(h_))});
  ASSERT_THAT(check, IsOk());
  EXPECT_TRUE(check->check_only);
  EXPECT_THAT(Plan({CheckOnly("a", std::span(a_)), B()}),
              IsErrorSaying(Reason::kInvalidTensor, "separate calls"));
  EXPECT_THAT(Plan({A(), CheckOnly("b", std::span(b_))}),
              IsErrorSaying(Reason::kInvalidTensor, "separate calls"));
}

TEST_F(PlanUnscaleTest, TakesEmptyTensorsBesideAnything) {
  std::vector<float> nothing;
  std::vector<Eigen::half> no_halves;
  for (const GradientTensor& other :
       {A(), CheckOnly("a", std::span(a_)), InPlace("h", std::span(h_))}) {
    EXPECT_THAT(Plan({InPlace("e", std::span(nothing)), other,
                      InPlace("eh", std::span(no_halves)),
                      CheckOnly("ec", std::span(nothing))}),
                IsOk());
  }
  EXPECT_THAT(Plan({InPlace("e", std::span(nothing))}), IsOk());
}

TEST_F(PlanUnscaleTest, RefusesToDivideMemoryTwice) {
  EXPECT_THAT(Plan({A(), InPlace("tied", std::span(a_))}),
              IsErrorSaying(Reason::kInvalidTensor, "twice"));
}

class SharedMemoryTest : public PlanUnscaleTest {
 protected:
  // rows x columns in memory_, in place, from element `first` on.
  GradientTensor Block(std::size_t first, std::size_t rows, std::size_t columns,
                       Layout layout) {
    GradientTensor tensor =
        InPlace("", std::span(memory_).subspan(first, rows));
    tensor.outer_size = columns;
    tensor.input_layout = tensor.output_layout = layout;
    return tensor;
  }
  std::span<float> Run(std::size_t first, std::size_t count) {
    return std::span(memory_).subspan(first, count);
  }

  static constexpr Layout kMatrix = {.inner_stride = 1, .outer_stride = 8};
  static auto Shared() {
    return IsErrorSaying(Reason::kInvalidTensor, "shares memory");
  }

  // 8 rows, 8 columns, column by column.
  std::vector<float> memory_ = std::vector<float>(64);
};

TEST_F(SharedMemoryTest, RefusesRunsThatOverlap) {
  EXPECT_THAT(Plan({InPlace("a", Run(0, 10)), InPlace("b", Run(9, 10))}),
              Shared());
  EXPECT_THAT(Plan({InPlace("b", Run(9, 10)), InPlace("a", Run(0, 10))}),
              Shared());
  EXPECT_THAT(Plan({InPlace("a", Run(0, 30)), InPlace("b", Run(3, 2))}),
              Shared());
  EXPECT_THAT(Plan({InPlace("a", Run(0, 10)), InPlace("b", Run(10, 10))}),
              IsOk());
}

TEST_F(SharedMemoryTest, RefusesToStoreWhatAnotherTensorReads) {
  std::vector<float> result(10);
  EXPECT_THAT(Plan({Into("a", Run(0, 10), result), InPlace("b", Run(5, 10))}),
              Shared());
  EXPECT_THAT(Plan({Into("a", Run(0, 10), Run(30, 10)),
                    Into("b", Run(35, 10), Run(20, 10))}),
              Shared());
  // Reading twice is fine.
  std::vector<float> other(10);
  EXPECT_THAT(
      Plan({Into("a", Run(0, 10), result), Into("b", Run(5, 10), other)}),
      IsOk());
  EXPECT_THAT(Plan({CheckOnly("a", Run(0, 10)), CheckOnly("b", Run(5, 10))}),
              IsOk());
}

TEST_F(SharedMemoryTest, RefusesAResultThatOverlapsItsOwnGradients) {
  EXPECT_THAT(Plan({Into("a", Run(0, 10), Run(5, 10))}),
              IsErrorSaying(Reason::kInvalidTensor, "overlaps"));
  EXPECT_THAT(Plan({Into("a", Run(0, 10), Run(10, 10))}), IsOk());
}

TEST_F(SharedMemoryTest, RefusesARowBesideItsMatrix) {
  const GradientTensor matrix = Block(0, 8, 8, kMatrix);
  const GradientTensor row = Block(3, 8, 1, {.inner_stride = 8});
  EXPECT_THAT(Plan({matrix, row}), Shared());
  EXPECT_THAT(Plan({row, matrix}), Shared());
  // The rows above and below it, as blocks of the same matrix.
  const GradientTensor above = Block(0, 3, 8, kMatrix);
  const GradientTensor below = Block(4, 4, 8, kMatrix);
  EXPECT_THAT(Plan({above, row, below}), IsOk());
  const GradientTensor with = Block(2, 2, 8, kMatrix);
  EXPECT_THAT(Plan({row, with}), Shared());
}

TEST_F(SharedMemoryTest, TakesBlocksOfOneMatrix) {
  const GradientTensor top_left = Block(0, 4, 4, kMatrix);
  const GradientTensor bottom_left = Block(4, 4, 4, kMatrix);
  const GradientTensor top_right = Block(32, 4, 4, kMatrix);
  const GradientTensor bottom_right = Block(36, 4, 4, kMatrix);
  EXPECT_THAT(Plan({bottom_right, top_left, top_right, bottom_left}), IsOk());
  // One row too many, only in the last column.
  EXPECT_THAT(Plan({top_left, Block(27, 1, 1, kMatrix)}), Shared());
  EXPECT_THAT(Plan({top_left, Block(28, 4, 1, kMatrix)}), IsOk());
  EXPECT_THAT(Plan({top_left, Block(28, 5, 1, kMatrix)}), IsOk());
  EXPECT_THAT(Plan({top_left, Block(20, 5, 1, kMatrix)}), Shared());
}

TEST_F(SharedMemoryTest, TakesInterleavedVectorsInWhateverDirection) {
  const GradientTensor even = Block(0, 8, 1, {.inner_stride = 2});
  const GradientTensor odd = Block(1, 8, 1, {.inner_stride = 2});
  const GradientTensor odd_backwards = Block(15, 8, 1, {.inner_stride = -2});
  const GradientTensor even_backwards = Block(14, 8, 1, {.inner_stride = -2});
  EXPECT_THAT(Plan({even, odd}), IsOk());
  EXPECT_THAT(Plan({even, odd_backwards}), IsOk());
  EXPECT_THAT(Plan({even, even_backwards}), Shared());
  // Different strides that cross are not looked at closer: 0 2 4.., 1 5 9..
  EXPECT_THAT(Plan({even, Block(1, 4, 1, {.inner_stride = 4})}), Shared());
}

TEST_F(SharedMemoryTest, ARowMajorMatrixIsTheSameMatrix) {
  const Layout by_rows = {.inner_stride = 8, .outer_stride = 1};
  EXPECT_THAT(Plan({Block(0, 8, 4, by_rows), Block(4, 4, 8, kMatrix)}), IsOk());
  EXPECT_THAT(Plan({Block(0, 8, 5, by_rows), Block(4, 4, 8, kMatrix)}),
              Shared());
}

TEST_F(SharedMemoryTest, RefusesStridesBeyondMemory) {
  constexpr auto kFar = std::numeric_limits<std::ptrdiff_t>::max() / 8;
  EXPECT_THAT(Plan({Block(0, 8, 1, {.inner_stride = kFar})}),
              IsErrorSaying(Reason::kInvalidTensor, "reach"));
  EXPECT_THAT(Plan({Block(0, 8, 1, {.inner_stride = -kFar})}),
              IsErrorSaying(Reason::kInvalidTensor, "reach"));
}

TEST_F(PlanUnscaleTest, RefusesStridesThatStoreTwoElementsAtOnePlace) {
  std::vector<float> memory(16);
  const auto with = [&](std::size_t inner, std::size_t outer,
                        std::ptrdiff_t inner_stride,
                        std::ptrdiff_t outer_stride) {
    GradientTensor tensor = InPlace("t", std::span(memory));
    tensor.inner_size = inner;
    tensor.outer_size = outer;
    tensor.input_layout = tensor.output_layout = {.inner_stride = inner_stride,
                                                  .outer_stride = outer_stride};
    return Plan({tensor});
  };
  EXPECT_THAT(with(4, 1, 0, 0), IsError(Reason::kInvalidTensor));
  EXPECT_THAT(with(4, 2, 1, 3), IsError(Reason::kInvalidTensor));
  EXPECT_THAT(with(4, 2, 1, 0), IsError(Reason::kInvalidTensor));
  EXPECT_THAT(with(4, 3, 2, -6), IsError(Reason::kInvalidTensor));
  EXPECT_THAT(with(4, 2, 1, 4), IsOk());
  EXPECT_THAT(with(4, 2, 2, 1), IsOk());
  // Interleaved, but every element has its own place: 0 2 4 and 3 5 7.
  EXPECT_THAT(with(3, 2, 2, 3), IsOk());
  EXPECT_THAT(with(1, 1, 0, 0), IsOk());
}

}  // namespace
}  // namespace lossscaler::internal
