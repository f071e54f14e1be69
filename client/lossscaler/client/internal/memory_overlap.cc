// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/memory_overlap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace lossscaler::internal {
namespace {

// A dimension of a tensor: `count` places, `stride` bytes apart.
struct Dimension {
  std::size_t count = 1;
  std::size_t stride = 0;
};

// Whether one of a's runs shares a byte with one of b's, when either has a
// single run or both have b's pitch. Only the distance counts, so a may be
// taken for its run `k` = 0 and b's runs for -(a.runs - 1) .. b.runs - 1.
bool RunsOverlap(const Footprint& a, const Footprint& b) {
  const auto pitch = static_cast<std::int64_t>(b.pitch);
  const auto distance =
      static_cast<std::int64_t>(b.start) - static_cast<std::int64_t>(a.start);
  const auto first = -static_cast<std::int64_t>(a.runs - 1);
  const auto last = static_cast<std::int64_t>(b.runs - 1);
  // The first k whose run ends beyond a's start: distance + k * pitch > -width.
  const std::int64_t over = -static_cast<std::int64_t>(b.width) - distance;
  std::int64_t k = over / pitch;
  if (over % pitch < 0) --k;  // Rounds down.
  ++k;
  k = std::max(k, first);
  return k <= last && distance + k * pitch < static_cast<std::int64_t>(a.width);
}

}  // namespace

std::optional<Footprint> FootprintOf(const GradientTensor& tensor,
                                     const void* memory, const Layout& layout,
                                     std::size_t element_size) {
  constexpr std::ptrdiff_t kMost =
      std::numeric_limits<std::ptrdiff_t>::max() / 16;
  Footprint footprint;
  footprint.start = reinterpret_cast<std::uintptr_t>(memory);
  footprint.width = element_size;
  std::vector<Dimension> dimensions;
  std::ptrdiff_t reach = 0;
  for (const auto& [count, stride] :
       {std::pair(tensor.inner_size, layout.inner_stride),
        std::pair(tensor.outer_size, layout.outer_stride)}) {
    if (count <= 1 || stride == 0) continue;
    std::ptrdiff_t bytes = 0;
    std::ptrdiff_t length = 0;
    if (__builtin_mul_overflow(stride, element_size, &bytes) ||
        __builtin_mul_overflow(bytes, count - 1, &length) || length > kMost ||
        length < -kMost) {
      return std::nullopt;
    }
    // A negative stride runs towards lower addresses.
    if (length < 0) {
      footprint.start -= static_cast<std::uintptr_t>(-length);
    }
    reach += std::abs(length);
    dimensions.push_back({count, static_cast<std::size_t>(std::abs(bytes))});
  }
  footprint.end =
      footprint.start + static_cast<std::uintptr_t>(reach) + element_size;
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) {
              return a.stride < b.stride;
            });
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const Dimension& dimension = dimensions[i];
    const bool outermost = i + 1 == dimensions.size();
    if (outermost && dimension.stride > footprint.width) {
      footprint.runs = dimension.count;
      footprint.pitch = dimension.stride;
    } else {
      footprint.width += dimension.stride * (dimension.count - 1);
    }
  }
  return footprint;
}

bool Overlap(const Footprint& a, const Footprint& b) {
  if (a.end <= b.start || b.end <= a.start) return false;
  if (a.runs == 1 && b.runs == 1) return true;
  if (a.runs == 1 || a.pitch == b.pitch) return RunsOverlap(a, b);
  if (b.runs == 1) return RunsOverlap(b, a);
  return true;
}

std::optional<SharedMemory> FindSharedMemory(
    std::vector<Footprint> footprints) {
  std::sort(footprints.begin(), footprints.end(),
            [](const Footprint& a, const Footprint& b) {
              return std::pair(a.start, a.tensor) <
                     std::pair(b.start, b.tensor);
            });
  // What reaches beyond the start of the footprint that is looked at.
  std::vector<const Footprint*> open;
  for (const Footprint& next : footprints) {
    std::erase_if(open, [&](const Footprint* footprint) {
      return footprint->end <= next.start;
    });
    for (const Footprint* footprint : open) {
      if ((footprint->stored || next.stored) && Overlap(*footprint, next)) {
        return SharedMemory{.tensor = std::max(footprint->tensor, next.tensor),
                            .other = std::min(footprint->tensor, next.tensor)};
      }
    }
    open.push_back(&next);
  }
  return std::nullopt;
}

}  // namespace lossscaler::internal
