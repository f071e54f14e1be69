// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Which tensors of a call share memory.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_MEMORY_OVERLAP_H_
#define LOSSSCALER_CLIENT_INTERNAL_MEMORY_OVERLAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lossscaler/client/gradient.h"

namespace lossscaler::internal {

// Memory as equal runs of bytes at equal distances: [start + k * pitch,
// start + k * pitch + width) for 0 <= k < runs. A contiguous tensor is one
// run, a block of a matrix one for each column, a strided vector one for each
// element. Elements with gaps between them inside a run count as all of it.
struct Footprint {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::size_t width = 0;
  std::size_t pitch = 0;
  std::size_t runs = 1;
  // Index of the tensor, and whether the call stores here.
  std::size_t tensor = 0;
  bool stored = false;
};

// nullopt if it would reach beyond any address space. `tensor` has elements,
// and `memory` is its input or output.
std::optional<Footprint> FootprintOf(const GradientTensor& tensor,
                                     const void* memory, const Layout& layout,
                                     std::size_t element_size);

// Whether two footprints share a byte: exactly if one of them is a single run
// or both have one pitch (blocks of one matrix); otherwise whether the spans
// from first to last byte do, which takes some disjoint pairs for overlapping
// and never the other way round.
bool Overlap(const Footprint& a, const Footprint& b);

struct SharedMemory {
  std::size_t tensor = 0;
  std::size_t other = 0;
};

// A pair of which at least one is stored, if any overlaps. Sorts, so that
// tensors side by side cost no more than that.
std::optional<SharedMemory> FindSharedMemory(std::vector<Footprint> footprints);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_MEMORY_OVERLAP_H_
