// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Bytes that lie in pieces: a message as a transport received it, or the
// payload within one. Pieces follow each other without gap, may be empty and
// may end anywhere, also within a number.
//
// A view: whoever owns the pieces keeps them.

#ifndef LOSSSCALER_CORE_FRAGMENTS_H_
#define LOSSSCALER_CORE_FRAGMENTS_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace lossscaler {

using Fragments = std::span<const std::string_view>;

inline std::size_t TotalBytes(Fragments fragments) {
  std::size_t bytes = 0;
  for (const std::string_view fragment : fragments) bytes += fragment.size();
  return bytes;
}

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_FRAGMENTS_H_
