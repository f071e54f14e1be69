// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/unscale_fragments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lossscaler {
namespace {

constexpr std::size_t kLargestElement = 8;

}  // namespace

UnscaleVerdict UnscaleFragments(ElementType input_type, Fragments input,
                                ElementType output_type, void* output,
                                std::uint64_t first_index,
                                const UnscaleParameters& parameters) {
  const std::size_t size = ElementSize(input_type);
  auto* stored = static_cast<std::byte*>(output);
  std::uint64_t index = first_index;
  UnscaleVerdict total;
  const auto unscale = [&](const void* from, std::size_t count) {
    if (count == 0) return;
    total.Merge(Unscale(input_type, from, count, output_type, stored, index,
                        parameters));
    index += count;
    if (stored != nullptr) stored += count * ElementSize(output_type);
  };

  // The beginning of an element whose end is in a later piece.
  std::byte straddler[kLargestElement];
  std::size_t begun = 0;
  for (std::string_view piece : input) {
    // It may be null, which memcpy() does not take.
    if (piece.empty()) continue;
    if (begun > 0) {
      const std::size_t missing = std::min(size - begun, piece.size());
      std::memcpy(straddler + begun, piece.data(), missing);
      begun += missing;
      piece.remove_prefix(missing);
      if (begun < size) continue;
      unscale(straddler, 1);
      begun = 0;
    }
    const std::size_t whole = piece.size() / size;
    unscale(piece.data(), whole);
    piece.remove_prefix(whole * size);
    if (piece.empty()) continue;
    begun = piece.size();
    std::memcpy(straddler, piece.data(), begun);
  }
  return total;
}

}  // namespace lossscaler
