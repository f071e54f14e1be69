// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/strided_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace lossscaler::internal {
namespace {

std::ptrdiff_t ByteOffset(const StridedShape& shape, std::size_t index) {
  const auto inner = static_cast<std::ptrdiff_t>(index % shape.inner_size);
  const auto outer = static_cast<std::ptrdiff_t>(index / shape.inner_size);
  return (inner * shape.layout.inner_stride +
          outer * shape.layout.outer_stride) *
         static_cast<std::ptrdiff_t>(shape.element_size);
}

// Calls run(offset_in_packed, offset_in_base, count) for each piece of a row.
template <typename Run>
void ForEachRun(const StridedShape& shape, std::size_t first, std::size_t count,
                Run run) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t index = first + done;
    const std::size_t left_in_row = shape.inner_size - index % shape.inner_size;
    const std::size_t n = std::min(count - done, left_in_row);
    run(done * shape.element_size, ByteOffset(shape, index), n);
    done += n;
  }
}

// memcpy() of a constant size is one load and one store, aligned or not.
template <std::size_t kSize>
void CopyStrided(const std::byte* from, std::ptrdiff_t from_stride,
                 std::byte* to, std::ptrdiff_t to_stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to, from, kSize);
    from += from_stride;
    to += to_stride;
  }
}

void CopyElements(const std::byte* from, std::ptrdiff_t from_stride,
                  std::byte* to, std::ptrdiff_t to_stride,
                  std::size_t element_size, std::size_t count) {
  switch (element_size) {
    case 2:
      return CopyStrided<2>(from, from_stride, to, to_stride, count);
    case 4:
      return CopyStrided<4>(from, from_stride, to, to_stride, count);
    default:
      return CopyStrided<8>(from, from_stride, to, to_stride, count);
  }
}

}  // namespace

bool StridedShape::packed() const {
  return (inner_size <= 1 || layout.inner_stride == 1) &&
         (outer_size <= 1 ||
          layout.outer_stride == static_cast<std::ptrdiff_t>(inner_size));
}

StridedShape InputShape(const GradientTensor& tensor) {
  return {.inner_size = tensor.inner_size,
          .outer_size = tensor.outer_size,
          .layout = tensor.input_layout,
          .element_size = ElementSize(tensor.type)};
}

StridedShape OutputShape(const GradientTensor& tensor) {
  return {.inner_size = tensor.inner_size,
          .outer_size = tensor.outer_size,
          .layout = tensor.output_layout,
          .element_size = ElementSize(tensor.output_type)};
}

const void* ElementAt(const void* base, const StridedShape& shape,
                      std::size_t index) {
  return static_cast<const std::byte*>(base) + ByteOffset(shape, index);
}

void* ElementAt(void* base, const StridedShape& shape, std::size_t index) {
  return static_cast<std::byte*>(base) + ByteOffset(shape, index);
}

void Gather(const void* base, const StridedShape& shape, std::size_t first,
            std::size_t count, void* packed) {
  if (count == 0) return;
  if (shape.packed()) {
    std::memcpy(packed, ElementAt(base, shape, first),
                count * shape.element_size);
    return;
  }
  const auto* from = static_cast<const std::byte*>(base);
  auto* to = static_cast<std::byte*>(packed);
  const auto size = static_cast<std::ptrdiff_t>(shape.element_size);
  ForEachRun(shape, first, count,
             [&](std::size_t in_packed, std::ptrdiff_t in_base, std::size_t n) {
               CopyElements(from + in_base, shape.layout.inner_stride * size,
                            to + in_packed, size, shape.element_size, n);
             });
}

void Scatter(const void* packed, const StridedShape& shape, std::size_t first,
             std::size_t count, void* base) {
  if (count == 0) return;
  if (shape.packed()) {
    std::memcpy(ElementAt(base, shape, first), packed,
                count * shape.element_size);
    return;
  }
  const auto* from = static_cast<const std::byte*>(packed);
  auto* to = static_cast<std::byte*>(base);
  const auto size = static_cast<std::ptrdiff_t>(shape.element_size);
  ForEachRun(shape, first, count,
             [&](std::size_t in_packed, std::ptrdiff_t in_base, std::size_t n) {
               CopyElements(from + in_packed, size, to + in_base,
                            shape.layout.inner_stride * size,
                            shape.element_size, n);
             });
}

void ScatterFragments(Fragments packed, const StridedShape& shape,
                      std::size_t first, std::size_t count, void* base) {
  if (count == 0) return;
  if (shape.packed()) {
    auto* to = static_cast<std::byte*>(ElementAt(base, shape, first));
    for (const std::string_view piece : packed) {
      if (piece.empty()) continue;
      std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    }
    return;
  }
  const std::size_t size = shape.element_size;
  std::byte straddling[8];
  std::size_t held = 0;  // Bytes of it.
  for (std::string_view piece : packed) {
    if (held > 0) {
      const std::size_t n = std::min(size - held, piece.size());
      std::memcpy(straddling + held, piece.data(), n);
      held += n;
      piece.remove_prefix(n);
      if (held < size) continue;
      Scatter(straddling, shape, first++, 1, base);
      held = 0;
    }
    const std::size_t whole = piece.size() / size;
    Scatter(piece.data(), shape, first, whole, base);
    first += whole;
    piece.remove_prefix(whole * size);
    if (!piece.empty()) std::memcpy(straddling, piece.data(), piece.size());
    held = piece.size();
  }
}

}  // namespace lossscaler::internal
