// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/eigen.h"

#include <limits>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/internal/local_unscale.h"
#include "lossscaler/client/internal/unscale_plan.h"
#include "testing/status_matchers.h"

namespace lossscaler {
namespace {

using lossscaler::testing::IsError;
using lossscaler::testing::IsOk;
using RowMajor =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// 12 * (10 i + j + 1): divisible by every scale below.
template <typename Matrix>
Matrix Numbered(int rows, int cols) {
  Matrix matrix(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      matrix(i, j) =
          static_cast<typename Matrix::Scalar>(12 * (10 * i + j + 1));
    }
  }
  return matrix;
}

UnscaleVerdict Unscaled(const GradientTensor& tensor, double scale) {
  const auto plan = internal::PlanUnscale({&tensor, 1});
  EXPECT_THAT(plan, IsOk());
  if (!plan.ok()) return {};
  return internal::UnscaleInMemory(*plan, {.scale = scale}).front();
}

TEST(EigenInPlaceTest, UnscalesBothStorageOrders) {
  auto columns = Numbered<Eigen::MatrixXf>(3, 4);
  Unscaled(InPlace("m", columns), 4);
  EXPECT_EQ(columns, Numbered<Eigen::MatrixXf>(3, 4) / 4);

  auto rows = Numbered<RowMajor>(3, 4);
  Unscaled(InPlace("m", rows), 4);
  EXPECT_EQ(rows, Numbered<RowMajor>(3, 4) / 4);
}

TEST(EigenInPlaceTest, KeepsFixedSizesArraysAndDoubles) {
  Eigen::Matrix2d fixed = Numbered<Eigen::Matrix2d>(2, 2);
  Unscaled(InPlace("m", fixed), 3);
  EXPECT_EQ(fixed, Numbered<Eigen::Matrix2d>(2, 2) / 3);
  Eigen::ArrayXf array = Eigen::ArrayXf::LinSpaced(5, 2, 10);
  Unscaled(InPlace("a", array), 2);
  EXPECT_TRUE((array == Eigen::ArrayXf::LinSpaced(5, 1, 5)).all());
}

template <typename Matrix>
void TouchesOnlyTheBlock() {
  auto matrix = Numbered<Matrix>(5, 6);
  Matrix expected = matrix;
  expected.block(1, 2, 3, 2) /= 2;
  Unscaled(InPlace("b", matrix.block(1, 2, 3, 2)), 2);
  EXPECT_EQ(matrix, expected);
}

TEST(EigenInPlaceTest, TouchesOnlyABlockByColumns) {
  TouchesOnlyTheBlock<Eigen::MatrixXf>();
}

TEST(EigenInPlaceTest, TouchesOnlyABlockByRows) {
  TouchesOnlyTheBlock<RowMajor>();
}

TEST(EigenInPlaceTest, UnscalesARowOfAColumnMajorMatrix) {
  auto matrix = Numbered<Eigen::MatrixXf>(3, 4);
  Eigen::MatrixXf expected = matrix;
  expected.row(1) /= 6;
  Unscaled(InPlace("r", matrix.row(1)), 6);
  EXPECT_EQ(matrix, expected);
}

TEST(EigenInPlaceTest, FollowsInnerAndOuterStridesOfAMap) {
  std::vector<float> memory(40);
  for (int i = 0; i < 40; ++i) memory[i] = static_cast<float>(4 * i);
  std::vector<float> expected = memory;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 4; ++i) expected[1 + 3 * i + 13 * j] /= 4;
  }
  Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>
      map(memory.data() + 1, 4, 3, {13, 3});
  Unscaled(InPlace("m", map), 4);
  EXPECT_EQ(memory, expected);
}

TEST(EigenInPlaceTest, FollowsAMapThatRunsBackwards) {
  std::vector<float> memory = {8, 16, 24, 32, 5};
  Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<Eigen::Dynamic>> map(
      memory.data() + 3, 4, Eigen::InnerStride<Eigen::Dynamic>(-1));
  memory[1] = std::numeric_limits<float>::infinity();
  const UnscaleVerdict verdict = Unscaled(InPlace("v", map), 8);
  EXPECT_THAT(memory, ::testing::ElementsAre(
                          1, std::numeric_limits<float>::infinity(), 3, 4, 5));
  // Counted in the order of the map.
  EXPECT_EQ(verdict.first_bad_index, 2);
}

TEST(EigenIntoTest, PairsElementsAcrossStorageOrders) {
  const auto values = Numbered<Eigen::MatrixXf>(3, 4);
  RowMajor result = RowMajor::Zero(3, 4);
  Unscaled(Into("m", values, result), 4);
  EXPECT_EQ(result, Numbered<RowMajor>(3, 4) / 4);

  Eigen::MatrixXf back = Eigen::MatrixXf::Zero(3, 4);
  Unscaled(Into("m", result, back), 3);
  EXPECT_EQ(back, values / 12);
}

TEST(EigenIntoTest, WidensHalvesIntoABlock) {
  const auto values = Numbered<Eigen::Matrix<Eigen::half, 2, 2>>(2, 2);
  Eigen::MatrixXf result = Eigen::MatrixXf::Constant(4, 4, -1);
  Unscaled(Into("m", values, result.block(1, 1, 2, 2)), 8);
  Eigen::MatrixXf expected = Eigen::MatrixXf::Constant(4, 4, -1);
  expected.block(1, 1, 2, 2) << 1.5F, 3, 16.5F, 18;
  EXPECT_EQ(result, expected);
}

TEST(EigenIntoTest, RefusesAnotherShapeOfTheSameSize) {
  const auto values = Numbered<Eigen::MatrixXf>(3, 4);
  Eigen::MatrixXf result(4, 3);
  const GradientTensor tensor = Into("m", values, result);
  EXPECT_THAT(internal::PlanUnscale({&tensor, 1}),
              IsError(Reason::kInvalidTensor));
}

TEST(EigenCheckOnlyTest, ReadsConstantMatrices) {
  Eigen::MatrixXf matrix = Numbered<Eigen::MatrixXf>(2, 3);
  matrix(1, 2) = std::numeric_limits<float>::quiet_NaN();
  const Eigen::MatrixXf& constant = matrix;
  const UnscaleVerdict verdict = Unscaled(CheckOnly("m", constant), 2);
  EXPECT_EQ(verdict.nan_count, 1);
  EXPECT_EQ(verdict.first_bad_index, 5);
  EXPECT_EQ(matrix(0, 0), 12);
}

TEST(EigenInPlaceTest, TakesAnEmptyMatrix) {
  Eigen::MatrixXf empty(0, 3);
  EXPECT_EQ(Unscaled(InPlace("e", empty), 2), UnscaleVerdict{});
}

}  // namespace
}  // namespace lossscaler
