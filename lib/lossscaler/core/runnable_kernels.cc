// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <span>

#include "lossscaler/core/unscale_kernel.h"
#include "lossscaler/core/unscale_on.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lossscaler {
namespace {

constexpr RunnableKernel kKernels[] = {
#if defined(__x86_64__)
    {"avx2", UnscaleAvx2},
#endif
    {"portable", UnscalePortable},
};

#if defined(__x86_64__)
bool HasAvx2AndF16c() {
  // Also asks whether the operating system keeps the wide registers.
  if (!__builtin_cpu_supports("avx2")) return false;
  // No name of a feature that every compiler knows.
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

std::span<const RunnableKernel> FindRunnable() {
  const std::span<const RunnableKernel> all(kKernels);
#if defined(__x86_64__)
  if (!HasAvx2AndF16c()) return all.subspan(1);
#endif
  return all;
}

}  // namespace

std::span<const RunnableKernel> RunnableKernels() {
  static const std::span<const RunnableKernel> kRunnable = FindRunnable();
  return kRunnable;
}

}  // namespace lossscaler
