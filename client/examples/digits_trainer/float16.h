// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The points of a training step at which float16 is stored.
//
// A tensor core multiplies float16 matrices, adds up in float32 and stores
// float16. The trainer computes in float32 throughout and rounds wherever such
// a machine would store: the numbers are the same.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_FLOAT16_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_FLOAT16_H_

#include "Eigen/Core"

namespace lossscaler::digits {

enum class Precision { kFloat32, kFloat16 };

// `values` as they are after having been stored in `precision`: in float16
// rounded to nearest, to zero below 2^-25, to infinity from 65520 on.
Eigen::MatrixXf Stored(Precision precision, Eigen::MatrixXf values);

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_FLOAT16_H_
