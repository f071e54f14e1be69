// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
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

struct PiecesCase {
  std::size_t element_size;
  std::ptrdiff_t stride;
};

class ScatterFragmentsTest : public ::testing::TestWithParam<PiecesCase> {};

// Byte n of the payload is n + 1; gaps are 0.
TEST_P(ScatterFragmentsTest, CutAnywhereIsAsInOnePiece) {
  const auto [size, stride] = GetParam();
  const auto step = static_cast<std::size_t>(stride);
  const StridedShape shape{.inner_size = 6,
                           .layout = {.inner_stride = stride},
                           .element_size = size};
  // Elements 2 to 4 of 6.
  std::string payload(3 * size, '\0');
  std::iota(payload.begin(), payload.end(), '\1');
  std::string expected(6 * step * size, '\0');
  for (std::size_t i = 0; i < 3; ++i) {
    expected.replace((2 + i) * step * size, size, payload, i * size, size);
  }
  const std::string_view all = payload;
  for (std::size_t a = 0; a <= all.size(); ++a) {
    for (std::size_t b = a; b <= all.size(); ++b) {
      // A piece of one byte, too: an element may lie in many.
      const std::size_t c = std::min(b + 1, all.size());
      const std::string_view pieces[] = {all.substr(0, a), all.substr(a, b - a),
                                         all.substr(b, c - b), all.substr(c)};
      std::string memory(expected.size(), '\0');
      ScatterFragments(pieces, shape, 2, 3, memory.data());
      EXPECT_EQ(memory, expected) << a << " " << b;
    }
  }
}

TEST_P(ScatterFragmentsTest, ByteByByte) {
  const auto [size, stride] = GetParam();
  const StridedShape shape{.inner_size = 2,
                           .layout = {.inner_stride = stride},
                           .element_size = size};
  const std::string payload =
      std::string("abcdefgh0123456789").substr(0, 2 * size);
  std::vector<std::string_view> pieces;
  for (const char& byte : payload) pieces.emplace_back(&byte, 1);
  std::string memory(2 * static_cast<std::size_t>(stride) * size, '\0');
  ScatterFragments(pieces, shape, 0, 2, memory.data());
  EXPECT_EQ(memory.substr(0, size), payload.substr(0, size));
  EXPECT_EQ(memory.substr(static_cast<std::size_t>(stride) * size, size),
            payload.substr(size));
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScatterFragmentsTest,
                         ::testing::ValuesIn(std::vector<PiecesCase>{
                             {2, 1}, {2, 3}, {4, 1}, {4, 2}, {8, 1}, {8, 2}}),
                         [](const auto& test) {
                           return "Size" +
                                  std::to_string(test.param.element_size) +
                                  "Stride" + std::to_string(test.param.stride);
                         });

}  // namespace
}  // namespace lossscaler::internal
