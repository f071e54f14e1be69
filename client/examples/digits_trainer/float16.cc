// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/float16.h"

#include <utility>

namespace lossscaler::digits {

Eigen::MatrixXf Stored(Precision precision, Eigen::MatrixXf values) {
  if (precision == Precision::kFloat32) return values;
  return values.cast<Eigen::half>().cast<float>();
}

}  // namespace lossscaler::digits
