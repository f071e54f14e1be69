// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/element_type.h"

#include "gtest/gtest.h"

namespace lossscaler {
namespace {

TEST(ElementTypeTest, SixteenBitTypesHaveTwoBytesAndWidenToFloat32) {
  for (ElementType type : {ElementType::kFloat16, ElementType::kBFloat16}) {
    EXPECT_EQ(ElementSize(type), 2u);
    EXPECT_EQ(WideType(type), ElementType::kFloat32);
  }
}

TEST(ElementTypeTest, WideTypesStay) {
  EXPECT_EQ(ElementSize(ElementType::kFloat32), sizeof(float));
  EXPECT_EQ(WideType(ElementType::kFloat32), ElementType::kFloat32);
  EXPECT_EQ(ElementSize(ElementType::kFloat64), sizeof(double));
  EXPECT_EQ(WideType(ElementType::kFloat64), ElementType::kFloat64);
}

TEST(ElementTypeTest, IsNamedAsNumericLibrariesDo) {
  EXPECT_EQ(ElementTypeName(ElementType::kFloat32), "float32");
  EXPECT_EQ(ElementTypeName(ElementType::kFloat16), "float16");
  EXPECT_EQ(ElementTypeName(ElementType::kBFloat16), "bfloat16");
  EXPECT_EQ(ElementTypeName(ElementType::kFloat64), "float64");
}

}  // namespace
}  // namespace lossscaler
