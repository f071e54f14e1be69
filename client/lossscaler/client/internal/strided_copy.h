// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Between strided memory of the caller and densely packed payloads.
//
// Elements are numbered in storage order: element i is at
// (i % inner_size) * inner_stride + (i / inner_size) * outer_stride.
//
// Thread safety: free functions without state; two calls may run at once on
// disjoint elements.

#ifndef LOSSSCALER_CLIENT_INTERNAL_STRIDED_COPY_H_
#define LOSSSCALER_CLIENT_INTERNAL_STRIDED_COPY_H_

#include <cstddef>

#include "lossscaler/client/gradient.h"
#include "lossscaler/core/fragments.h"

namespace lossscaler::internal {

struct StridedShape {
  std::size_t inner_size = 0;
  std::size_t outer_size = 1;
  Layout layout;
  // 2, 4 or 8.
  std::size_t element_size = 4;

  // Whether the elements lie packed in storage order.
  bool packed() const;
};

StridedShape InputShape(const GradientTensor& tensor);
StridedShape OutputShape(const GradientTensor& tensor);

// The address of an element.
const void* ElementAt(const void* base, const StridedShape& shape,
                      std::size_t index);
void* ElementAt(void* base, const StridedShape& shape, std::size_t index);

// Elements [first, first + count) of `base` to `packed`.
void Gather(const void* base, const StridedShape& shape, std::size_t first,
            std::size_t count, void* packed);

// `packed` to elements [first, first + count) of `base`.
void Scatter(const void* packed, const StridedShape& shape, std::size_t first,
             std::size_t count, void* base);

// The same from pieces, between which an element may straddle.
//
// REQUIRES: the pieces together are `count` elements.
void ScatterFragments(Fragments packed, const StridedShape& shape,
                      std::size_t first, std::size_t count, void* base);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_STRIDED_COPY_H_
