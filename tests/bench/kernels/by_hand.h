// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the kernels are compared with: loops that do less, each written for its
// type with AVX2 and F16C. Whole groups of 16 elements only.

#ifndef LOSSSCALER_TESTS_BENCH_KERNELS_BY_HAND_H_
#define LOSSSCALER_TESTS_BENCH_KERNELS_BY_HAND_H_

#include <cstddef>

namespace lossscaler::bench {

// `count` elements from `input` to `output`, which may be the same memory where
// both types have one size. Returns whether all results are finite.
using LoopByHand = bool (*)(const void* input, std::size_t count, void* output,
                            float scale);

// Nothing but the division; always true.
bool DivideFloat32Only(const void* input, std::size_t count, void* output,
                       float scale);
bool DivideFloat64Only(const void* input, std::size_t count, void* output,
                       float scale);

// Widen, divide, narrow, and test what is stored. No counts, no sums.
bool Float16ToFloat32ByHand(const void* input, std::size_t count, void* output,
                            float scale);
bool Float16ByHand(const void* input, std::size_t count, void* output,
                   float scale);
bool BFloat16ToFloat32ByHand(const void* input, std::size_t count, void* output,
                             float scale);
bool BFloat16ByHand(const void* input, std::size_t count, void* output,
                    float scale);

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_KERNELS_BY_HAND_H_
