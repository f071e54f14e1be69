// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Block: what is looked at as one, and again if need be.
//
// Included by kernels alone, after Eigen: see unscale_kernel.h.

#ifndef LOSSSCALER_CORE_UNSCALE_BLOCK_H_
#define LOSSSCALER_CORE_UNSCALE_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_operation.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

template <typename Stored>
inline constexpr bool kIsSixteenBits = sizeof(Stored) == 2;

template <typename T>
inline constexpr T kInfinity = static_cast<T>(__builtin_inf());

template <typename T>
bool IsFinite(T value) {
  return value - value == T{0};
}

// Few enough elements for a float32 sum, or to be looked at again in the cache.
template <bool kStatistics>
inline constexpr std::size_t kBlockElements = kStatistics ? 1024 : 4096;

// A block of whole groups that has been stored at `stored`.
template <typename T>
struct Block {
  std::byte* stored;
  std::size_t groups;
  // Of its first element in the call.
  std::uint64_t first_index;
};

// Elements as they lie in memory.
template <typename In, typename Out>
void Read(const std::byte* from, Group<Arithmetic<In>>& group) {
  if constexpr (kIsSixteenBits<In>) {
    Load(from, group, In{}, Out{});
  } else {
    Load(from, group);
  }
}

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_BLOCK_H_
