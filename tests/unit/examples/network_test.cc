// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/network.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "digits_trainer/adam.h"
#include "digits_trainer/underflow.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::digits {
namespace {

struct Batch {
  Eigen::MatrixXf images;
  std::vector<int> labels;
};

Batch RandomBatch(int count, std::mt19937_64& random) {
  std::uniform_real_distribution<float> pixel(0.0f, 1.0f);
  Batch batch;
  batch.images.resize(kWidths[0], count);
  for (float& value : batch.images.reshaped()) value = pixel(random);
  for (int i = 0; i < count; ++i) {
    batch.labels.push_back(static_cast<int>(random() % 10));
  }
  return batch;
}

TEST(NetworkTest, GradientsAreTheSlopesOfTheLoss) {
  std::mt19937_64 random(3);
  Tensors<float> parameters = InitialParameters(random);
  const Batch batch = RandomBatch(8, random);
  constexpr float kOuter = 2.5f;
  const Gradients gradients =
      RunBackward(Precision::kFloat32,
                  RunForward(Precision::kFloat32, parameters, batch.images),
                  batch.labels, kOuter);
  const auto loss = [&] {
    return kOuter *
           CrossEntropy(
               RunForward(Precision::kFloat32, parameters, batch.images).logits,
               batch.labels);
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (int probe = 0; probe < 10; ++probe) {
      const auto at = static_cast<Eigen::Index>(
          random() % static_cast<std::size_t>(parameters[i].size()));
      float& parameter = parameters[i].data()[at];
      const float before = parameter;
      constexpr float kStep = 1e-3f;
      parameter = before + kStep;
      const double above = loss();
      parameter = before - kStep;
      const double below = loss();
      parameter = before;
      // Float32 rounding of the loss, about 1e-7, over the step.
      EXPECT_NEAR(gradients.parameters[i].data()[at],
                  (above - below) / (2.0 * kStep), 2e-3)
          << kTensorNames[i] << " " << at;
    }
  }
}

TEST(NetworkTest, LogitsThatSayNothingCostTheLogarithmOfTheClasses) {
  EXPECT_NEAR(CrossEntropy(Eigen::MatrixXf::Zero(10, 4), {0, 3, 6, 9}),
              std::log(10.0), 1e-12);
}

TEST(NetworkTest, AccuracyIsTheShareOfLargestLogitsAtTheLabel) {
  Eigen::MatrixXf logits = Eigen::MatrixXf::Zero(10, 4);
  logits(3, 0) = logits(4, 1) = logits(5, 2) = logits(6, 3) = 1.0f;
  EXPECT_EQ(Accuracy(logits, {3, 4, 5, 0}), 0.75);
}

TEST(NetworkTest, SmallOuterGradientsVanishInFloat16AndAScaleSavesThem) {
  std::mt19937_64 random(3);
  const Tensors<float> parameters = InitialParameters(random);
  const Batch batch = RandomBatch(64, random);
  const auto gradients = [&](Precision precision, float outer) {
    return RunBackward(precision,
                       RunForward(precision, parameters, batch.images),
                       batch.labels, outer);
  };
  const Gradients exact = gradients(Precision::kFloat32, 1e-5f);
  Underflow unscaled;
  unscaled.Add(exact, gradients(Precision::kFloat16, 1e-5f));
  // A gradient of a logit is at most 1e-5 / 64, less than three times the
  // smallest half: those of the wrong digits vanish.
  EXPECT_GT(unscaled.share(), 0.3);
  Underflow scaled;
  scaled.Add(exact, gradients(Precision::kFloat16, 1e-5f * 65536.0f));
  EXPECT_EQ(scaled.nonzero, unscaled.nonzero);
  EXPECT_LT(scaled.share(), 0.01);
}

TEST(NetworkTest, LargeOuterGradientsOverflowInFloat16) {
  std::mt19937_64 random(3);
  const Tensors<float> parameters = InitialParameters(random);
  const Batch batch = RandomBatch(64, random);
  const Gradients gradients =
      RunBackward(Precision::kFloat16,
                  RunForward(Precision::kFloat16, parameters, batch.images),
                  batch.labels, 1e8f);
  EXPECT_FALSE(gradients.parameters[4].allFinite());
}

TEST(UnderflowTest, CountsNonZerosAndThoseThatAreLost) {
  Gradients float32;
  float32.parameters = ZeroTensors<float>();
  float32.outputs.fill(Eigen::MatrixXf::Zero(2, 2));
  Gradients float16 = float32;
  float32.parameters[0](0, 0) = 1e-9f;
  float32.parameters[0](0, 1) = 1.0f;
  float16.parameters[0](0, 1) = 1.0f;
  float32.outputs[2](1, 1) = 1.0f;
  float16.outputs[2](1, 1) = std::numeric_limits<float>::infinity();
  float32.outputs[1](0, 0) = 1e-9f;
  // Zero in float32: not lost, whatever became of it.
  float16.outputs[0](0, 0) = 1.0f;
  Underflow underflow;
  underflow.Add(float32, float16);
  EXPECT_EQ(underflow.nonzero, 4);
  EXPECT_EQ(underflow.lost, 2);
  EXPECT_EQ(underflow.share(), 0.5);
  EXPECT_EQ(Underflow().share(), 0.0);
}

TEST(AdamTest, TheFirstStepIsTheLearningRateDownEachGradientWhateverItsSize) {
  // Bias correction makes first / sqrt(second) the sign of the gradient.
  Tensors<float> gradients = ZeroTensors<float>();
  gradients[0](0, 0) = 1e-9f;
  gradients[0](1, 0) = -1e3f;
  Tensors<float> parameters = ZeroTensors<float>();
  Adam().Step(gradients, parameters);
  EXPECT_NEAR(parameters[0](0, 0), -1e-3f, 1e-7f);
  EXPECT_NEAR(parameters[0](1, 0), 1e-3f, 1e-7f);
  EXPECT_EQ(parameters[0](2, 0), 0.0f);
}

}  // namespace
}  // namespace lossscaler::digits
