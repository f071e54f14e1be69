// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_NPY_POSITION_H_
#define LOSSSCALER_CTL_NPY_POSITION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ctl/npy/header.h"

namespace lossscaler::ctl {

// The indices, one for each dimension, of the element that is stored as number
// `index`: what a[i, j] needs. Empty for an array without dimensions.
//
// REQUIRES: index < header.element_count().
//
// Thread safety: a free function without state.
std::vector<std::uint64_t> PositionOf(std::uint64_t index,
                                      const NpyHeader& header);

// "(3, 4)", "(3,)" and "()", as Python writes it.
std::string TupleText(const std::vector<std::uint64_t>& numbers);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_POSITION_H_
