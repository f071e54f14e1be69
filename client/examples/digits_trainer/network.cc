// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/network.h"

#include <cmath>
#include <utility>

namespace lossscaler::digits {
namespace {

// Softmax of each column, in float32 as every framework computes it.
Eigen::MatrixXf Softmax(const Eigen::MatrixXf& logits) {
  const Eigen::ArrayXXf shifted =
      (logits.rowwise() - logits.colwise().maxCoeff()).array();
  const Eigen::ArrayXXf exponentials = shifted.exp();
  return (exponentials.rowwise() / exponentials.colwise().sum()).matrix();
}

}  // namespace

Tensors<float> InitialParameters(std::mt19937_64& random) {
  Tensors<float> parameters = ZeroTensors<float>();
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    std::normal_distribution<float> normal(
        0.0f, std::sqrt(2.0f / static_cast<float>(kWidths[layer])));
    for (float& weight : parameters[2 * layer].reshaped()) {
      weight = normal(random);
    }
  }
  return parameters;
}

Forward RunForward(Precision precision, const Tensors<float>& parameters,
                   const Eigen::MatrixXf& images) {
  Forward forward;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    forward.parameters[i] = Stored(precision, parameters[i]);
  }
  Eigen::MatrixXf values = Stored(precision, images);
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    forward.inputs[layer] = std::move(values);
    values = (forward.parameters[2 * layer] * forward.inputs[layer]).colwise() +
             forward.parameters[2 * layer + 1].col(0);
    if (layer + 1 < kLayers) values = values.cwiseMax(0.0f);
    values = Stored(precision, std::move(values));
  }
  forward.logits = std::move(values);
  return forward;
}

double CrossEntropy(const Eigen::MatrixXf& logits,
                    const std::vector<int>& labels) {
  double sum = 0.0;
  for (Eigen::Index i = 0; i < logits.cols(); ++i) {
    const Eigen::VectorXd column = logits.col(i).cast<double>();
    const double largest = column.maxCoeff();
    sum += largest + std::log((column.array() - largest).exp().sum()) -
           column[labels[static_cast<std::size_t>(i)]];
  }
  return sum / static_cast<double>(logits.cols());
}

double Accuracy(const Eigen::MatrixXf& logits, const std::vector<int>& labels) {
  std::size_t right = 0;
  for (Eigen::Index i = 0; i < logits.cols(); ++i) {
    Eigen::Index digit = 0;
    logits.col(i).maxCoeff(&digit);
    if (digit == labels[static_cast<std::size_t>(i)]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

Gradients RunBackward(Precision precision, const Forward& forward,
                      const std::vector<int>& labels, float outer_gradient) {
  Eigen::MatrixXf loss_gradient = Softmax(forward.logits);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    loss_gradient(labels[i], static_cast<Eigen::Index>(i)) -= 1.0f;
  }
  loss_gradient *= outer_gradient / static_cast<float>(labels.size());

  Gradients gradients;
  gradients.outputs[kLayers - 1] = Stored(precision, std::move(loss_gradient));
  for (std::size_t layer = kLayers; layer-- > 0;) {
    const Eigen::MatrixXf& input = forward.inputs[layer];
    const Eigen::MatrixXf& output = gradients.outputs[layer];
    gradients.parameters[2 * layer] =
        Stored(precision, output * input.transpose());
    gradients.parameters[2 * layer + 1] =
        Stored(precision, output.rowwise().sum());
    if (layer == 0) break;
    // The input of this layer is the output of the one before, which is zero
    // where the rectifier let nothing through.
    const Eigen::MatrixXf through =
        forward.parameters[2 * layer].transpose() * output;
    gradients.outputs[layer - 1] =
        Stored(precision, (input.array() > 0.0f).select(through.array(), 0.0f));
  }
  return gradients;
}

}  // namespace lossscaler::digits
