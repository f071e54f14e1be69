// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/adam.h"

#include <cmath>
#include <cstddef>

namespace lossscaler::digits {
namespace {

constexpr float kLearningRate = 1e-3f;
constexpr float kBeta1 = 0.9f;
constexpr float kBeta2 = 0.999f;
// The usual 1e-8 is as large as the gradients of a loss of weight 1e-5, and
// would damp them; below them Adam does not notice the weight.
constexpr float kEpsilon = 1e-14f;

}  // namespace

void AdamStep(std::int64_t step, Eigen::Ref<const Eigen::VectorXf> gradients,
              Eigen::Ref<Eigen::VectorXf> first_moments,
              Eigen::Ref<Eigen::VectorXf> second_moments,
              Eigen::Ref<Eigen::VectorXf> parameters) {
  const auto steps = static_cast<double>(step);
  const auto correction1 =
      static_cast<float>(1.0 - std::pow(static_cast<double>(kBeta1), steps));
  const auto correction2 =
      static_cast<float>(1.0 - std::pow(static_cast<double>(kBeta2), steps));
  const auto gradient = gradients.array();
  auto first = first_moments.array();
  auto second = second_moments.array();
  first = kBeta1 * first + (1.0f - kBeta1) * gradient;
  second = kBeta2 * second + (1.0f - kBeta2) * gradient.square();
  parameters.array() -= kLearningRate * (first / correction1) /
                        ((second / correction2).sqrt() + kEpsilon);
}

void Adam::Step(const Tensors<float>& gradients, Tensors<float>& parameters) {
  ++steps_;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    AdamStep(steps_, gradients[i].reshaped(), first_moments_[i].reshaped(),
             second_moments_[i].reshaped(), parameters[i].reshaped());
  }
}

}  // namespace lossscaler::digits
