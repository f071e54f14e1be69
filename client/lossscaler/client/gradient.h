// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GradientTensor: a tensor of the caller, as the library sees it.
//
// A view, not a container: the memory stays the caller's and must live until
// the call returns. Elements are visited in storage order (inner dimension
// first), whatever the strides; unscaling is elementwise, so the order only
// shows in indices (first_bad_index).
//
// Memory that a call stores to must be its own: no other tensor of the call,
// input or output, may share an element with it, and a result overlaps its own
// input only if it is the input (in place). Each call checks that and refuses
// with INVALID_TENSOR. Rows, columns and blocks of one matrix side by side are
// fine, vectors interleaved in one stride as well; what interleaves inside a
// column, or crosses with different strides, is refused without looking closer.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CLIENT_GRADIENT_H_
#define LOSSSCALER_CLIENT_GRADIENT_H_

#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "Eigen/Core"
#include "lossscaler/core/element_type.h"

namespace lossscaler {

// The element type of a C++ type: float, double, Eigen::half, Eigen::bfloat16.
template <typename T>
constexpr ElementType ElementTypeOf() {
  using U = std::remove_const_t<T>;
  static_assert(std::is_same_v<U, float> || std::is_same_v<U, double> ||
                    std::is_same_v<U, Eigen::half> ||
                    std::is_same_v<U, Eigen::bfloat16>,
                "gradients are float, double, Eigen::half or Eigen::bfloat16");
  if constexpr (std::is_same_v<U, double>) return ElementType::kFloat64;
  if constexpr (std::is_same_v<U, Eigen::half>) return ElementType::kFloat16;
  if constexpr (std::is_same_v<U, Eigen::bfloat16>) {
    return ElementType::kBFloat16;
  }
  return ElementType::kFloat32;
}

// Two-dimensional strides, in elements. A vector has one column.
struct Layout {
  std::ptrdiff_t inner_stride = 1;
  std::ptrdiff_t outer_stride = 0;

  friend bool operator==(const Layout&, const Layout&) = default;
};

struct GradientTensor {
  // Unique within a call; empty: "#" and the index in the call.
  std::string name;
  ElementType type = ElementType::kFloat32;
  // Elements in all: inner_size * outer_size.
  std::size_t inner_size = 0;
  std::size_t outer_size = 1;

  const void* input = nullptr;
  Layout input_layout;

  // Null: only checked. Equal to input: in place, with the same layout.
  void* output = nullptr;
  // What the results are stored as; for a tensor that is only checked, what
  // they would be stored as (a result may be infinite in float16 only).
  ElementType output_type = ElementType::kFloat32;
  Layout output_layout;

  std::size_t element_count() const { return inner_size * outer_size; }
};

// Marks a tensor whose result has another shape than its input: it has elements
// and no memory, which every call refuses.
inline void SetUnmatched(GradientTensor* tensor) {
  tensor->inner_size = tensor->outer_size = 1;
  tensor->input = nullptr;
  tensor->output = nullptr;
}

// A contiguous run of elements that outlives the expression: a std::vector,
// std::array or std::span, for example. (Eigen's own types: eigen.h.)
template <typename R>
concept ElementRun = std::ranges::contiguous_range<R> &&
    std::ranges::sized_range<R> && std::ranges::borrowed_range<R> &&
    !std::is_base_of_v<Eigen::EigenBase<std::remove_cvref_t<R>>,
                       std::remove_cvref_t<R>>;

// A contiguous run of gradients, unscaled in place. The type is kept.
template <ElementRun R>
GradientTensor InPlace(std::string_view name, R&& gradients) {
  const std::span values(gradients);
  using T = typename decltype(values)::element_type;
  static_assert(!std::is_const_v<T>, "gradients in place must be writable");
  GradientTensor tensor;
  tensor.name = std::string(name);
  tensor.type = tensor.output_type = ElementTypeOf<T>();
  tensor.inner_size = values.size();
  tensor.input = tensor.output = values.data();
  return tensor;
}

// A contiguous run unscaled into another one of the same length (checked by
// the call), which must not overlap it. 16-bit gradients may go to float.
template <ElementRun R, ElementRun S>
GradientTensor Into(std::string_view name, R&& gradients, S&& result) {
  const std::span from(gradients);
  const std::span to(result);
  using T = typename decltype(from)::element_type;
  using U = typename decltype(to)::element_type;
  static_assert(!std::is_const_v<U>, "the result must be writable");
  GradientTensor tensor;
  tensor.name = std::string(name);
  tensor.type = ElementTypeOf<T>();
  tensor.output_type = ElementTypeOf<U>();
  tensor.inner_size = from.size();
  tensor.input = from.data();
  tensor.output = to.data();
  if (from.size() != to.size()) SetUnmatched(&tensor);
  return tensor;
}

// A contiguous run that is only tested. The tensors of one call are either all
// of this kind or none is.
template <ElementRun R>
GradientTensor CheckOnly(std::string_view name, R&& gradients) {
  const std::span values(gradients);
  using T = typename decltype(values)::element_type;
  GradientTensor tensor;
  tensor.name = std::string(name);
  tensor.type = ElementTypeOf<T>();
  tensor.output_type = WideType(tensor.type);
  tensor.inner_size = values.size();
  tensor.input = values.data();
  return tensor;
}

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_GRADIENT_H_
