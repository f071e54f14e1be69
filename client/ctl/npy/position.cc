// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/position.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lossscaler::ctl {

std::vector<std::uint64_t> PositionOf(std::uint64_t index,
                                      const NpyHeader& header) {
  const std::size_t dimensions = header.shape.size();
  std::vector<std::uint64_t> position(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = header.fortran_order ? i : dimensions - 1 - i;
    position[d] = index % header.shape[d];
    index /= header.shape[d];
  }
  return position;
}

std::string TupleText(const std::vector<std::uint64_t>& numbers) {
  return absl::StrCat("(", absl::StrJoin(numbers, ", "),
                      numbers.size() == 1 ? ",)" : ")");
}

}  // namespace lossscaler::ctl
