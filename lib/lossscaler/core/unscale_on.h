// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Unscale() on a kernel of the caller's choice, for what compares kernels.
//
// Thread safety: free functions; what they share never changes.

#ifndef LOSSSCALER_CORE_UNSCALE_ON_H_
#define LOSSSCALER_CORE_UNSCALE_ON_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lossscaler/core/unscale.h"
#include "lossscaler/core/unscale_kernel.h"

namespace lossscaler {

struct RunnableKernel {
  // "avx2", "portable".
  std::string_view name;
  UnscaleKernel run;
};

// The kernels that this processor and its operating system can run, the one
// that Unscale() takes first.
std::span<const RunnableKernel> RunnableKernels();

// As Unscale().
UnscaleVerdict UnscaleOn(const RunnableKernel& kernel, ElementType input_type,
                         const void* input, std::size_t count,
                         ElementType output_type, void* output,
                         std::uint64_t first_index,
                         const UnscaleParameters& parameters);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_ON_H_
