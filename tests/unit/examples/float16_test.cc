// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/float16.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace lossscaler::digits {
namespace {

float StoredInFloat16(float value) {
  return Stored(Precision::kFloat16, Eigen::MatrixXf::Constant(1, 1, value))(0,
                                                                             0);
}

TEST(StoredTest, RoundsToTheNearestHalfTiesToEven) {
  EXPECT_EQ(StoredInFloat16(1.0f), 1.0f);
  // Halves near 1 are 2^-10 apart.
  EXPECT_EQ(StoredInFloat16(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(StoredInFloat16(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(StoredInFloat16(1.0f + 0x3p-11f), 1.0f + 0x1p-9f);
  EXPECT_EQ(StoredInFloat16(-2049.0f), -2048.0f);
}

TEST(StoredTest, LosesWhatIsTooSmallAndOverflowsWhatIsTooLarge) {
  EXPECT_EQ(StoredInFloat16(0x1p-24f), 0x1p-24f);
  EXPECT_EQ(StoredInFloat16(0x1p-25f), 0.0f);
  EXPECT_EQ(StoredInFloat16(1.01f * 0x1p-25f), 0x1p-24f);
  EXPECT_EQ(StoredInFloat16(65519.0f), 65504.0f);
  EXPECT_EQ(StoredInFloat16(65520.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(StoredInFloat16(-1e6f), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(
      std::isnan(StoredInFloat16(std::numeric_limits<float>::quiet_NaN())));
}

TEST(StoredTest, ChangesNothingInFloat32) {
  const Eigen::MatrixXf values =
      (Eigen::MatrixXf(2, 2) << 1e-30f, 1e30f, 1.0f + 0x1p-23f, -0.1f)
          .finished();
  EXPECT_EQ(Stored(Precision::kFloat32, values), values);
}

}  // namespace
}  // namespace lossscaler::digits
