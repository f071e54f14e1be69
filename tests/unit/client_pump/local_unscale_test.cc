// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/local_unscale.h"

#include <sched.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/client/internal/parallel_work.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using lossscaler::testing::IsOk;

constexpr double kRoundingScale =
    1536.0;  // Not a power of two: division rounds.

std::vector<float> LocalValues(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i % 1013) - 500.25F;
  }
  return values;
}

UnscaleVerdict UnscaleOne(const GradientTensor& tensor) {
  const auto plan = PlanUnscale({&tensor, 1});
  EXPECT_THAT(plan, IsOk());
  return UnscaleInMemory(*plan, {.scale = kRoundingScale}).front();
}

// More elements than fit into a block, so that blocks are walked.
TEST(UnscaleInMemoryTest, DividesEveryElementOnceWhateverTheStrides) {
  constexpr std::size_t kRows = 1001;
  constexpr std::size_t kColumns = 50;
  for (const Layout layout : {Layout{1, kRows}, Layout{2, 2 * kRows + 3},
                              Layout{kColumns, 1}, Layout{1, 2 * kRows}}) {
    std::vector<float> memory = LocalValues(2 * kRows * kColumns + 200);
    std::vector<float> expected = memory;
    double sum = 0;
    for (std::size_t j = 0; j < kColumns; ++j) {
      for (std::size_t i = 0; i < kRows; ++i) {
        float& element =
            expected[i * static_cast<std::size_t>(layout.inner_stride) +
                     j * static_cast<std::size_t>(layout.outer_stride)];
        element /= static_cast<float>(kRoundingScale);
        sum += static_cast<double>(element) * element;
      }
    }
    GradientTensor tensor = InPlace("t", std::span(memory));
    tensor.inner_size = kRows;
    tensor.outer_size = kColumns;
    tensor.input_layout = tensor.output_layout = layout;
    const UnscaleVerdict verdict = UnscaleOne(tensor);
    EXPECT_EQ(memory, expected) << layout.inner_stride;
    EXPECT_EQ(verdict.element_count, kRows * kColumns);
    EXPECT_FALSE(verdict.overflow());
    EXPECT_NEAR(verdict.sum_of_squares, sum, sum * 1e-6);
  }
}

TEST(UnscaleInMemoryTest, FindsTheFirstBadElementOfAStridedTensor) {
  std::vector<float> memory = LocalValues(80'000);
  memory[2 * 30'000] = std::numeric_limits<float>::infinity();
  memory[2 * 31'000] = -std::numeric_limits<float>::infinity();
  GradientTensor tensor = InPlace("t", std::span(memory));
  tensor.inner_size = 40'000;
  tensor.input_layout = tensor.output_layout = {.inner_stride = 2};
  const UnscaleVerdict verdict = UnscaleOne(tensor);
  EXPECT_EQ(verdict.first_bad_index, 30'000);
  EXPECT_EQ(verdict.positive_infinity_count, 1);
  EXPECT_EQ(verdict.negative_infinity_count, 1);
}

TEST(UnscaleInMemoryTest, WidensHalvesWithStrides) {
  std::vector<Eigen::half> halves = {Eigen::half(3), Eigen::half(-1),
                                     Eigen::half(6), Eigen::half(-1)};
  std::vector<float> result(3, -7);
  GradientTensor tensor =
      Into("t", std::span(halves).first(2), std::span(result).first(2));
  tensor.input_layout = {.inner_stride = 2};
  tensor.output_layout = {.inner_stride = 2};
  UnscaleOne(tensor);
  EXPECT_THAT(result, ::testing::ElementsAre(3.0F / 1536, -7, 6.0F / 1536));
}

TEST(UnscaleInMemoryTest, OnlyCheckedMemoryStaysAsItIs) {
  std::vector<float> memory = {3e38F, 1};
  const std::vector<float> before = memory;
  GradientTensor tensor = CheckOnly("t", std::span(memory));
  const auto plan = PlanUnscale({&tensor, 1});
  ASSERT_THAT(plan, IsOk());
  // 3e38 / 0.5 does not fit into float32.
  const auto verdicts = UnscaleInMemory(*plan, {.scale = 0.5});
  EXPECT_EQ(verdicts.front().positive_infinity_count, 1);
  EXPECT_EQ(memory, before);
}

// Enough for several threads, and not a whole number of pieces.
constexpr std::size_t kManyElements = 3'300'001;

TEST(UnscaleInMemoryTest, FindsInALargeTensorWhatOnePassFinds) {
  std::vector<float> memory = LocalValues(kManyElements);
  memory[2'000'000] = std::numeric_limits<float>::quiet_NaN();
  memory[3'300'000] = std::numeric_limits<float>::infinity();
  memory[5] = std::numeric_limits<float>::denorm_min();
  std::vector<float> expected = memory;
  UnscaleVerdict whole = lossscaler::Unscale(
      ElementType::kFloat32, expected.data(), kManyElements,
      ElementType::kFloat32, expected.data(), 0, {.scale = kRoundingScale});
  const UnscaleVerdict verdict = UnscaleOne(InPlace("t", std::span(memory)));
  // As bytes: NaN equals no NaN.
  EXPECT_EQ(std::memcmp(memory.data(), expected.data(),
                        kManyElements * sizeof(float)),
            0);
  EXPECT_EQ(verdict.first_bad_index, 2'000'000);
  EXPECT_EQ(verdict.flushed_to_zero, 1);
  // The documented tolerance.
  EXPECT_NEAR(verdict.sum_of_squares, whole.sum_of_squares,
              whole.sum_of_squares * 0x1p-16);
  whole.sum_of_squares = verdict.sum_of_squares;
  EXPECT_EQ(verdict, whole);
}

TEST(UnscaleInMemoryTest, SharesManyTensorsAndStridesAmongThreads) {
  std::vector<std::vector<float>> memory;
  std::vector<GradientTensor> tensors;
  for (const std::size_t count : {0u, 1u, 700'000u, 1'500'000u}) {
    memory.push_back(LocalValues(2 * count));
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    GradientTensor tensor = InPlace("", std::span(memory[i]));
    tensor.inner_size = memory[i].size() / 2;
    tensor.input_layout = tensor.output_layout = {.inner_stride = 2};
    tensors.push_back(tensor);
  }
  const auto plan = PlanUnscale(tensors);
  ASSERT_THAT(plan, IsOk());
  const std::vector<UnscaleVerdict> verdicts =
      UnscaleInMemory(*plan, {.scale = kRoundingScale});
  ASSERT_EQ(verdicts.size(), memory.size());
  for (std::size_t t = 0; t < memory.size(); ++t) {
    const std::vector<float> before = LocalValues(memory[t].size());
    EXPECT_EQ(verdicts[t].element_count, before.size() / 2);
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(memory[t][i],
                i % 2 == 0 ? before[i] / static_cast<float>(kRoundingScale)
                           : before[i])
          << t << " " << i;
    }
  }
}

TEST(UnscaleInMemoryTest, SumsAlikeOnAnyNumberOfProcessors) {
  std::vector<float> memory = LocalValues(kManyElements);
  const GradientTensor tensor = CheckOnly("t", std::span(memory));
  const double sum = UnscaleOne(tensor).sum_of_squares;
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(UsableProcessors(), 1);
  EXPECT_EQ(UnscaleOne(tensor).sum_of_squares, sum);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

}  // namespace
}  // namespace lossscaler::internal
