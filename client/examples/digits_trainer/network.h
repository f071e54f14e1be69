// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A multilayer perceptron 64-64-64-10 with rectified linear units and a
// softmax, and its gradients.
//
// Matrices hold one sample in each column. Thread safety: functions of values.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_NETWORK_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_NETWORK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "digits_trainer/float16.h"

namespace lossscaler::digits {

inline constexpr std::size_t kLayers = 3;
inline constexpr std::array<int, kLayers + 1> kWidths = {64, 64, 64, 10};

// Weight and bias of every layer, in this order: parameters, their gradients
// or an optimizer's moments.
template <typename Scalar>
using Tensors =
    std::array<Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>,
               2 * kLayers>;
inline constexpr std::array<std::string_view, 2 * kLayers> kTensorNames = {
    "layer1.weight", "layer1.bias",   "layer2.weight",
    "layer2.bias",   "layer3.weight", "layer3.bias"};

// He et al., "Delving Deep into Rectifiers", 2015: normal weights of variance
// 2 / inputs, zero biases.
Tensors<float> InitialParameters(std::mt19937_64& random);

// Zeros, shaped like the parameters.
template <typename Scalar>
Tensors<Scalar> ZeroTensors() {
  Tensors<Scalar> tensors;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    tensors[2 * layer].setConstant(kWidths[layer + 1], kWidths[layer],
                                   Scalar(0));
    tensors[2 * layer + 1].setConstant(kWidths[layer + 1], 1, Scalar(0));
  }
  return tensors;
}

// What the backward pass needs of the forward pass.
struct Forward {
  // The parameters as they were stored for the multiplications.
  Tensors<float> parameters;
  // What went into each layer.
  std::array<Eigen::MatrixXf, kLayers> inputs;
  Eigen::MatrixXf logits;
};

Forward RunForward(Precision precision, const Tensors<float>& parameters,
                   const Eigen::MatrixXf& images);

// Mean over the samples.
double CrossEntropy(const Eigen::MatrixXf& logits,
                    const std::vector<int>& labels);

// Share of the samples whose largest logit is that of the label.
double Accuracy(const Eigen::MatrixXf& logits, const std::vector<int>& labels);

struct Gradients {
  // By each parameter.
  Tensors<float> parameters;
  // By what came out of each layer, on the way back to the first.
  std::array<Eigen::MatrixXf, kLayers> outputs;
};

// The gradients of f(cross-entropy), where `outer_gradient` is the derivative
// of f: the weight of the loss, times its scale.
Gradients RunBackward(Precision precision, const Forward& forward,
                      const std::vector<int>& labels, float outer_gradient);

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_NETWORK_H_
