// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GradientTensor from Eigen: matrices, arrays, vectors, maps, references and
// blocks, row-major or column-major, with any strides. Nothing is copied.
//
//   const GradientTensor tensors[] = {InPlace("w", weight_gradients),
//                                     InPlace("b", gradients.col(3))};
//   auto found = step.Unscale(tensors);
//
// The matrix must live until the call returns.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CLIENT_EIGEN_H_
#define LOSSSCALER_CLIENT_EIGEN_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "Eigen/Core"
#include "lossscaler/client/gradient.h"

namespace lossscaler {
namespace eigen_internal {

template <typename Derived>
constexpr bool kHasMemory = (static_cast<int>(Derived::Flags) &
                             Eigen::DirectAccessBit) != 0;
template <typename Derived>
constexpr bool kIsWritable = (static_cast<int>(Derived::Flags) &
                              Eigen::LvalueBit) != 0;
template <typename Derived>
constexpr bool kOwnsMemory =
    std::is_base_of_v<Eigen::PlainObjectBase<Derived>, Derived>;

template <typename Derived>
GradientTensor Input(std::string_view name, const Derived& values) {
  static_assert(kHasMemory<Derived>,
                "an expression has no memory: evaluate it into a matrix first");
  GradientTensor tensor;
  tensor.name = std::string(name);
  tensor.type = ElementTypeOf<typename Derived::Scalar>();
  tensor.inner_size = static_cast<std::size_t>(values.innerSize());
  tensor.outer_size = static_cast<std::size_t>(values.outerSize());
  tensor.input = values.data();
  tensor.input_layout = {.inner_stride = values.innerStride(),
                         .outer_stride = values.outerStride()};
  return tensor;
}

template <typename Derived>
GradientTensor InPlaceIn(std::string_view name, Derived& values) {
  static_assert(kIsWritable<Derived>, "gradients in place must be writable");
  GradientTensor tensor = Input(name, values);
  tensor.output = values.data();
  tensor.output_type = tensor.type;
  tensor.output_layout = tensor.input_layout;
  return tensor;
}

template <typename In, typename Out>
GradientTensor Between(std::string_view name, const In& values, Out& result) {
  static_assert(kHasMemory<Out> && kIsWritable<Out>,
                "the result must be writable memory");
  GradientTensor tensor = Input(name, values);
  tensor.output = result.data();
  tensor.output_type = ElementTypeOf<typename Out::Scalar>();
  // Elements are visited in the order of the input; the strides of the result
  // are those along the same dimensions, whatever its own storage order.
  constexpr bool kByRows = In::IsRowMajor != 0;
  tensor.output_layout = {
      .inner_stride = kByRows ? result.colStride() : result.rowStride(),
      .outer_stride = kByRows ? result.rowStride() : result.colStride()};
  if (values.rows() != result.rows() || values.cols() != result.cols()) {
    SetUnmatched(&tensor);
  }
  return tensor;
}

}  // namespace eigen_internal

// Unscaled in place; the type is kept.
template <typename Derived>
GradientTensor InPlace(std::string_view name,
                       Eigen::DenseBase<Derived>& values) {
  return eigen_internal::InPlaceIn(name, values.derived());
}

// The same for a block or map that is made on the spot.
template <typename Derived>
GradientTensor InPlace(std::string_view name,
                       Eigen::DenseBase<Derived>&& values) {
  static_assert(!eigen_internal::kOwnsMemory<Derived>,
                "a temporary matrix would be gone before the call");
  return eigen_internal::InPlaceIn(name, values.derived());
}

// Unscaled into another matrix of the same shape (checked by the call), which
// must not overlap. 16-bit gradients may go to float. Element (i, j) goes to
// element (i, j), also between storage orders.
template <typename In, typename Out>
GradientTensor Into(std::string_view name, const Eigen::DenseBase<In>& values,
                    Eigen::DenseBase<Out>& result) {
  return eigen_internal::Between(name, values.derived(), result.derived());
}

// The same into a block or map that is made on the spot.
template <typename In, typename Out>
GradientTensor Into(std::string_view name, const Eigen::DenseBase<In>& values,
                    Eigen::DenseBase<Out>&& result) {
  static_assert(!eigen_internal::kOwnsMemory<Out>,
                "a temporary matrix would be gone before the call");
  return eigen_internal::Between(name, values.derived(), result.derived());
}

// Only tested.
template <typename Derived>
GradientTensor CheckOnly(std::string_view name,
                         const Eigen::DenseBase<Derived>& values) {
  GradientTensor tensor = eigen_internal::Input(name, values.derived());
  tensor.output_type = WideType(tensor.type);
  return tensor;
}

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_EIGEN_H_
