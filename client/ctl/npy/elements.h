// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Elements in memory.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_NPY_ELEMENTS_H_
#define LOSSSCALER_CTL_NPY_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "lossscaler/core/element_type.h"

namespace lossscaler::ctl {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
// Aligned for any element; not initialised.
using Elements = std::unique_ptr<std::byte, Free>;

// Null if there is not enough memory; never for 0 bytes.
Elements AllocateElements(std::uint64_t bytes);

// Turns every element round, from one byte order into the other.
void SwapBytes(ElementType type, std::uint64_t count, std::byte* elements);

// The element at `element`, in the byte order of the machine: "nan", "inf",
// "-inf", or the shortest decimal that reads back as it.
std::string ElementText(ElementType type, const std::byte* element);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_ELEMENTS_H_
