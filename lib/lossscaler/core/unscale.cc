// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/unscale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>

#include "lossscaler/core/unscale_kernel.h"
#include "lossscaler/core/unscale_on.h"

namespace lossscaler {
namespace {

// Whether x * (1 / scale) has the bits of x / scale for every x: both round
// the same number if 1 / scale is exact.
template <typename T>
bool HasExactReciprocal(T scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == T{0.5} && std::isnormal(T{1} / scale);
}

template <typename T>
void Resolve(const UnscaleParameters& parameters, KernelCall& call) {
  const T scale = static_cast<T>(parameters.scale);
  if (scale == T{1}) {
    call.operation = UnscaleOperation::kKeep;
  } else if (parameters.arithmetic ==
             UnscaleArithmetic::kMultiplyByReciprocal) {
    call.operation = UnscaleOperation::kMultiply;
    call.factor = static_cast<T>(1.0 / parameters.scale);
  } else if (HasExactReciprocal(scale)) {
    call.operation = UnscaleOperation::kMultiply;
    call.factor = T{1} / scale;
  } else {
    call.operation = UnscaleOperation::kDivide;
    call.factor = scale;
  }
}

KernelCall Resolved(ElementType input_type, const void* input,
                    std::size_t count, ElementType output_type, void* output,
                    const UnscaleParameters& parameters) {
  KernelCall call = {.input_type = input_type,
                     .input = input,
                     .count = count,
                     .output_type = output_type,
                     .output = output,
                     .operation = UnscaleOperation::kKeep,
                     .factor = 1.0,
                     .statistics = parameters.statistics};
  if (input_type == ElementType::kFloat64) {
    Resolve<double>(parameters, call);
  } else {
    Resolve<float>(parameters, call);
  }
  return call;
}

}  // namespace

void UnscaleVerdict::Merge(const UnscaleVerdict& other) {
  element_count += other.element_count;
  nan_count += other.nan_count;
  positive_infinity_count += other.positive_infinity_count;
  negative_infinity_count += other.negative_infinity_count;
  flushed_to_zero += other.flushed_to_zero;
  if (other.first_bad_index &&
      (!first_bad_index || *other.first_bad_index < *first_bad_index)) {
    first_bad_index = other.first_bad_index;
  }
  sum_of_squares += other.sum_of_squares;
  absolute_maximum = std::max(absolute_maximum, other.absolute_maximum);
}

std::ostream& operator<<(std::ostream& os, const UnscaleVerdict& verdict) {
  os << "UnscaleVerdict{elements: " << verdict.element_count
     << ", nan: " << verdict.nan_count
     << ", +inf: " << verdict.positive_infinity_count
     << ", -inf: " << verdict.negative_infinity_count
     << ", flushed_to_zero: " << verdict.flushed_to_zero;
  if (verdict.first_bad_index) {
    os << ", first_bad_index: " << *verdict.first_bad_index;
  }
  return os << ", sum_of_squares: " << verdict.sum_of_squares
            << ", absolute_maximum: " << verdict.absolute_maximum << "}";
}

bool CanStore(ElementType input, ElementType output) {
  return output == input || output == WideType(input);
}

UnscaleVerdict UnscaleOn(const RunnableKernel& kernel, ElementType input_type,
                         const void* input, std::size_t count,
                         ElementType output_type, void* output,
                         std::uint64_t first_index,
                         const UnscaleParameters& parameters) {
  const KernelFindings found = kernel.run(
      Resolved(input_type, input, count, output_type, output, parameters));
  UnscaleVerdict verdict = {
      .element_count = count,
      .nan_count = found.nan_count,
      .positive_infinity_count = found.positive_infinity_count,
      .negative_infinity_count = found.negative_infinity_count,
      .flushed_to_zero = found.flushed_to_zero,
      .sum_of_squares = found.sum_of_squares,
      .absolute_maximum = found.absolute_maximum};
  if (found.first_bad != KernelFindings::kNone) {
    verdict.first_bad_index = first_index + found.first_bad;
  }
  return verdict;
}

UnscaleVerdict Unscale(ElementType input_type, const void* input,
                       std::size_t count, ElementType output_type, void* output,
                       std::uint64_t first_index,
                       const UnscaleParameters& parameters) {
  return UnscaleOn(RunnableKernels().front(), input_type, input, count,
                   output_type, output, first_index, parameters);
}

}  // namespace lossscaler
