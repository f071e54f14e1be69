// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/local_unscale.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lossscaler/client/internal/strided_copy.h"

namespace lossscaler::internal {
namespace {

// Elements gathered at a time: small enough to stay in the cache.
constexpr std::size_t kBlockElements = 16 * 1024;
constexpr std::size_t kLargestElement = 8;

UnscaleVerdict UnscaleTensor(const GradientTensor& tensor,
                             const UnscaleParameters& parameters) {
  const std::size_t count = tensor.element_count();
  const StridedShape input = InputShape(tensor);
  const StridedShape output = OutputShape(tensor);
  if (count == 0) return {};
  if (input.packed() && (tensor.output == nullptr || output.packed())) {
    return Unscale(tensor.type, tensor.input, count, tensor.output_type,
                   tensor.output, /*first_index=*/0, parameters);
  }
  std::vector<std::byte> gathered(kBlockElements * kLargestElement);
  std::vector<std::byte> results(tensor.output ? gathered.size() : 0);
  UnscaleVerdict verdict;
  for (std::size_t first = 0; first < count; first += kBlockElements) {
    const std::size_t n = std::min(kBlockElements, count - first);
    Gather(tensor.input, input, first, n, gathered.data());
    verdict.Merge(Unscale(tensor.type, gathered.data(), n, tensor.output_type,
                          tensor.output ? results.data() : nullptr, first,
                          parameters));
    if (tensor.output) Scatter(results.data(), output, first, n, tensor.output);
  }
  return verdict;
}

}  // namespace

std::vector<UnscaleVerdict> UnscaleInMemory(
    const UnscalePlan& plan, const UnscaleParameters& parameters) {
  std::vector<UnscaleVerdict> verdicts;
  verdicts.reserve(plan.tensors.size());
  for (const GradientTensor& tensor : plan.tensors) {
    verdicts.push_back(UnscaleTensor(tensor, parameters));
  }
  return verdicts;
}

}  // namespace lossscaler::internal
