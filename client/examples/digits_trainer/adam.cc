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

void Adam::Step(const Tensors<float>& gradients, Tensors<float>& parameters) {
  ++steps_;
  const auto steps = static_cast<double>(steps_);
  const auto correction1 =
      static_cast<float>(1.0 - std::pow(static_cast<double>(kBeta1), steps));
  const auto correction2 =
      static_cast<float>(1.0 - std::pow(static_cast<double>(kBeta2), steps));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto gradient = gradients[i].array();
    auto first = first_moments_[i].array();
    auto second = second_moments_[i].array();
    first = kBeta1 * first + (1.0f - kBeta1) * gradient;
    second = kBeta2 * second + (1.0f - kBeta2) * gradient.square();
    parameters[i].array() -= kLearningRate * (first / correction1) /
                             ((second / correction2).sqrt() + kEpsilon);
  }
}

}  // namespace lossscaler::digits
