// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015,
// algorithm 1.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_ADAM_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_ADAM_H_

#include <cstdint>

#include "Eigen/Core"
#include "digits_trainer/network.h"

namespace lossscaler::digits {

// Step number `step`, from 1 on, of parameters side by side; elementwise.
// Gradients must be finite; moments begin as zeros.
void AdamStep(std::int64_t step, Eigen::Ref<const Eigen::VectorXf> gradients,
              Eigen::Ref<Eigen::VectorXf> first_moments,
              Eigen::Ref<Eigen::VectorXf> second_moments,
              Eigen::Ref<Eigen::VectorXf> parameters);

// Thread safety: one thread at a time.
class Adam {
 public:
  // Takes one step down `gradients`, which must be finite.
  void Step(const Tensors<float>& gradients, Tensors<float>& parameters);

 private:
  Tensors<float> first_moments_ = ZeroTensors<float>();
  Tensors<float> second_moments_ = ZeroTensors<float>();
  std::int64_t steps_ = 0;
};

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_ADAM_H_
