// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/strided_copy.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

using ::testing::ElementsAre;

std::vector<float> Iota(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(StridedShapeTest, KnowsWhenElementsArePacked) {
  EXPECT_TRUE((StridedShape{.inner_size = 6}).packed());
  EXPECT_TRUE((StridedShape{.inner_size = 3,
                            .outer_size = 2,
                            .layout = {.inner_stride = 1, .outer_stride = 3}})
                  .packed());
  // A gap after each row.
  EXPECT_FALSE((StridedShape{.inner_size = 3,
                             .outer_size = 2,
                             .layout = {.inner_stride = 1, .outer_stride = 4}})
                   .packed());
  EXPECT_FALSE(
      (StridedShape{.inner_size = 3, .layout = {.inner_stride = 2}}).packed());
  EXPECT_FALSE(
      (StridedShape{.inner_size = 3, .layout = {.inner_stride = -1}}).packed());
  // Strides along a dimension of one element do not matter.
  EXPECT_TRUE((StridedShape{.inner_size = 1,
                            .outer_size = 4,
                            .layout = {.inner_stride = 9, .outer_stride = 1}})
                  .packed());
}

TEST(GatherTest, WalksInnerDimensionFirst) {
  const std::vector<float> memory = Iota(24);
  // A 3 x 2 block in columns of 8, every second row.
  const StridedShape shape{.inner_size = 3,
                           .outer_size = 2,
                           .layout = {.inner_stride = 2, .outer_stride = 8}};
  std::vector<float> packed(6);
  Gather(memory.data(), shape, 0, 6, packed.data());
  EXPECT_THAT(packed, ElementsAre(0, 2, 4, 8, 10, 12));
}

TEST(GatherTest, StartsAndStopsInTheMiddleOfRows) {
  const std::vector<float> memory = Iota(12);
  const StridedShape shape{.inner_size = 3,
                           .outer_size = 3,
                           .layout = {.inner_stride = 1, .outer_stride = 4}};
  std::vector<float> packed(5);
  Gather(memory.data(), shape, 2, 5, packed.data());
  EXPECT_THAT(packed, ElementsAre(2, 4, 5, 6, 8));
}

TEST(GatherTest, FollowsNegativeStrides) {
  const std::vector<float> memory = Iota(6);
  const StridedShape shape{.inner_size = 3,
                           .outer_size = 2,
                           .layout = {.inner_stride = -1, .outer_stride = -3}};
  std::vector<float> packed(6);
  Gather(memory.data() + 5, shape, 0, 6, packed.data());
  EXPECT_THAT(packed, ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST(ScatterTest, LeavesTheGapsAlone) {
  std::vector<std::int64_t> memory(8, -1);
  const StridedShape shape{.inner_size = 2,
                           .outer_size = 2,
                           .layout = {.inner_stride = 2, .outer_stride = 4},
                           .element_size = 8};
  const std::vector<std::int64_t> packed = {10, 11, 12};
  Scatter(packed.data(), shape, 1, 3, memory.data());
  EXPECT_THAT(memory, ElementsAre(-1, -1, 10, -1, 11, -1, 12, -1));
}

TEST(ScatterTest, IsTheInverseOfGatherForTwoByteElements) {
  std::vector<std::uint16_t> memory = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<std::uint16_t> before = memory;
  const StridedShape shape{.inner_size = 3,
                           .outer_size = 3,
                           .layout = {.inner_stride = 3, .outer_stride = 1},
                           .element_size = 2};
  std::vector<std::uint16_t> packed(9);
  Gather(memory.data(), shape, 0, 9, packed.data());
  EXPECT_THAT(packed, ElementsAre(1, 4, 7, 2, 5, 8, 3, 6, 9));
  memory.assign(9, 0);
  Scatter(packed.data(), shape, 0, 9, memory.data());
  EXPECT_EQ(memory, before);
}

}  // namespace
}  // namespace lossscaler::internal
