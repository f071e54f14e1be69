// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "digits_trainer/underflow.h"

#include <cstddef>

namespace lossscaler::digits {
namespace {

template <typename Matrices>
void AddAll(const Matrices& float32, const Matrices& float16,
            Underflow& underflow) {
  for (std::size_t i = 0; i < float32.size(); ++i) {
    const auto nonzero = float32[i].array() != 0.0f;
    underflow.nonzero += nonzero.count();
    underflow.lost += (nonzero && float16[i].array() == 0.0f).count();
  }
}

}  // namespace

void Underflow::Add(const Gradients& float32, const Gradients& float16) {
  AddAll(float32.parameters, float16.parameters, *this);
  AddAll(float32.outputs, float16.outputs, *this);
}

double Underflow::share() const {
  if (nonzero == 0) return 0.0;
  return static_cast<double>(lost) / static_cast<double>(nonzero);
}

}  // namespace lossscaler::digits
