// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// How much of the gradients float16 loses to underflow.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_UNDERFLOW_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_UNDERFLOW_H_

#include <cstdint>

#include "digits_trainer/network.h"

namespace lossscaler::digits {

struct Underflow {
  // Gradient values that are not zero in float32.
  std::int64_t nonzero = 0;
  // Those of them that are zero as stored in float16.
  std::int64_t lost = 0;

  // Takes the gradients of one step: as float32 has them, computed from the
  // same parameters and samples without a scale, and as float16 stored them.
  void Add(const Gradients& float32, const Gradients& float16);

  // lost / nonzero; 0 if there were none.
  double share() const;
};

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_UNDERFLOW_H_
