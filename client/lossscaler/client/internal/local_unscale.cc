// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/local_unscale.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lossscaler/client/internal/parallel_work.h"
#include "lossscaler/client/internal/strided_copy.h"

namespace lossscaler::internal {
namespace {

// Elements gathered at a time: small enough to stay in the cache.
constexpr std::size_t kBlockElements = 16 * 1024;
constexpr std::size_t kLargestElement = 8;

// What one thread takes at a time, and what it is worth starting one for: some
// ten times what its start costs.
constexpr std::size_t kPieceElements = 512 * 1024;

struct Piece {
  std::size_t tensor = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

// The cuts depend on the tensors alone, so that sums do not depend on the
// number of processors.
std::vector<Piece> Cut(const std::vector<GradientTensor>& tensors) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t count = tensors[i].element_count();
    for (std::size_t first = 0; first < count; first += kPieceElements) {
      pieces.push_back({.tensor = i,
                        .first = first,
                        .count = std::min(kPieceElements, count - first)});
    }
  }
  return pieces;
}

UnscaleVerdict UnscalePacked(const GradientTensor& tensor,
                             const StridedShape& input,
                             const StridedShape& output, const Piece& piece,
                             const UnscaleParameters& parameters) {
  return Unscale(tensor.type, ElementAt(tensor.input, input, piece.first),
                 piece.count, tensor.output_type,
                 tensor.output != nullptr
                     ? ElementAt(tensor.output, output, piece.first)
                     : nullptr,
                 piece.first, parameters);
}

UnscaleVerdict UnscaleStrided(const GradientTensor& tensor,
                              const StridedShape& input,
                              const StridedShape& output, const Piece& piece,
                              const UnscaleParameters& parameters) {
  std::vector<std::byte> gathered(kBlockElements * kLargestElement);
  std::vector<std::byte> results(tensor.output ? gathered.size() : 0);
  UnscaleVerdict verdict;
  const std::size_t end = piece.first + piece.count;
  for (std::size_t first = piece.first; first < end; first += kBlockElements) {
    const std::size_t n = std::min(kBlockElements, end - first);
    Gather(tensor.input, input, first, n, gathered.data());
    verdict.Merge(Unscale(tensor.type, gathered.data(), n, tensor.output_type,
                          tensor.output ? results.data() : nullptr, first,
                          parameters));
    if (tensor.output) Scatter(results.data(), output, first, n, tensor.output);
  }
  return verdict;
}

UnscaleVerdict UnscalePiece(const GradientTensor& tensor, const Piece& piece,
                            const UnscaleParameters& parameters) {
  const StridedShape input = InputShape(tensor);
  const StridedShape output = OutputShape(tensor);
  if (input.packed() && (tensor.output == nullptr || output.packed())) {
    return UnscalePacked(tensor, input, output, piece, parameters);
  }
  return UnscaleStrided(tensor, input, output, piece, parameters);
}

std::size_t WorthwhileThreads(const std::vector<Piece>& pieces) {
  std::size_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.count;
  const std::size_t worthwhile = elements / kPieceElements;
  return worthwhile < 2 ? 1 : std::min(worthwhile, UsableProcessors());
}

}  // namespace

std::vector<UnscaleVerdict> UnscaleInMemory(
    const UnscalePlan& plan, const UnscaleParameters& parameters) {
  const std::vector<Piece> pieces = Cut(plan.tensors);
  std::vector<UnscaleVerdict> found(pieces.size());
  ShareWork(pieces.size(), WorthwhileThreads(pieces), [&](std::size_t i) {
    found[i] =
        UnscalePiece(plan.tensors[pieces[i].tensor], pieces[i], parameters);
  });
  std::vector<UnscaleVerdict> verdicts(plan.tensors.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    verdicts[pieces[i].tensor].Merge(found[i]);
  }
  return verdicts;
}

}  // namespace lossscaler::internal
