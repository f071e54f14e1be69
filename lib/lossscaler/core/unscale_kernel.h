// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The kernels behind Unscale(): one source, unscale_pass.h, compiled once for
// every kind of processor.
//
// A kernel compiled for AVX2 must not leave an inline function of its own where
// the linker may choose it for the whole program. So its file includes no
// template but those in nameless namespaces and Eigen's under another name of
// its namespace, and takes and gives plain structures. The test Kernel.symbols
// reads the object files and sees that only the function below leaves them.

#ifndef LOSSSCALER_CORE_UNSCALE_KERNEL_H_
#define LOSSSCALER_CORE_UNSCALE_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "lossscaler/core/element_type.h"

namespace lossscaler {

enum class UnscaleOperation { kKeep, kMultiply, kDivide };

// Unscale() with its parameters resolved.
struct KernelCall {
  ElementType input_type;
  const void* input;
  std::size_t count;
  ElementType output_type;
  void* output;
  UnscaleOperation operation;
  // The divisor or multiplier, exact in the type of the arithmetic.
  double factor;
  bool statistics;
};

// UnscaleVerdict, as a plain structure.
struct KernelFindings {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
  std::uint64_t flushed_to_zero = 0;
  // Counted from the first element of the call.
  std::uint64_t first_bad = kNone;
  double sum_of_squares = 0.0;
  double absolute_maximum = 0.0;
};

using UnscaleKernel = KernelFindings (*)(const KernelCall& call);

// For what the compiler takes as the least of machines: on x86-64, SSE2.
KernelFindings UnscalePortable(const KernelCall& call);

#if defined(__x86_64__)
// For x86-64 with AVX2 and F16C.
KernelFindings UnscaleAvx2(const KernelCall& call);
#endif

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_KERNEL_H_
