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
