// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The one pass of the unscale kernels: read, divide, store, and look at what
// was stored, in registers.
//
// Included by kernels alone, after Eigen and after their own
//
//   void Load(const std::byte* from, Group<float>& group, In, Out);
//   template <typename Out> struct Words;      a group of 16 bits an element
//   Words<Out> LoadWords(const std::byte* from, Out);
//   Words<Out> Narrow(const Group<float>& group, Out);
//   void Widen(const Words<Out>& words, Group<float>& group);
//   void StoreWords(const Words<Out>& words, std::byte* to);
//   template <typename Out> class WordsMaximum;
//                                              Raise(Words<Out>), maximum():
//                                              the largest without its sign
//
// In and Out are Float16, BFloat16 or, as Out, float. Where both have 16 bits
// a group may hold its elements in another order. A NaN that is narrowed stays
// one and keeps its sign, whatever its payload.

#ifndef LOSSSCALER_CORE_UNSCALE_PASS_H_
#define LOSSSCALER_CORE_UNSCALE_PASS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lossscaler/core/element_type.h"
#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_block.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_inspection.h"
#include "lossscaler/core/unscale_kernel.h"
#include "lossscaler/core/unscale_operation.h"
#include "lossscaler/core/unscale_second_look.h"
#include "lossscaler/core/vanished_counter.h"

namespace lossscaler {
namespace {  // NOLINT(google-build-namespaces)

template <bool kStatistics, typename In, typename Out, typename Operation>
void UnscaleBlock(const std::byte* input, const Block<Out>& block,
                  Operation operation, Arithmetic<Out> largest_that_vanishes,
                  KernelFindings& findings) {
  using T = Arithmetic<In>;
  constexpr std::size_t kElements = Group<T>::kElements;
  VanishedCounter<T> vanished(largest_that_vanishes);
  typename InspectionOf<kStatistics, Out, kIsSixteenBits<Out>>::Type inspection;
  // Copies, since what is stored could be anything for all the compiler knows.
  const std::byte* from = input;
  std::byte* to = block.stored;
  const std::byte* const end = from + block.groups * kElements * sizeof(In);
  for (; from != end;
       from += kElements * sizeof(In), to += kElements * sizeof(Out)) {
    if constexpr (!Operation::kChanges && kIsSixteenBits<Out>) {
      // Not narrowed: that would lose the payload of a NaN.
      const Words<Out> words = LoadWords(from, Out{});
      StoreWords(words, to);
      inspection.Add(words);
      continue;
    }
    Group<T> group;
    Read<In, Out>(from, group);
    for (std::size_t i = 0; i < Group<T>::kPackets; ++i) {
      if constexpr (Operation::kChanges) vanished.Add(i, group.packets[i]);
      group.packets[i] = operation.OfPacket(group.packets[i]);
    }
    if constexpr (kIsSixteenBits<Out>) {
      const Words<Out> words = Narrow(group, Out{});
      StoreWords(words, to);
      inspection.Add(words);
    } else {
      Store(group, to);
      inspection.Add(group);
    }
  }
  if constexpr (Operation::kChanges) {
    findings.flushed_to_zero += vanished.count();
  }
  if (inspection.Conclude(findings)) return;
  LookAgain<kStatistics>(block, findings);
  MendNaNs<Operation::kChanges, In>(input, block);
}

template <bool kStatistics, typename In, typename Out, typename Operation>
KernelFindings Run(const KernelCall& call) {
  constexpr std::size_t kElements = Group<Arithmetic<In>>::kElements;
  const Operation operation(call.factor);
  const auto largest_that_vanishes = LargestThatVanishes<Out>(operation);
  const auto* input = static_cast<const std::byte*>(call.input);
  auto* output = static_cast<std::byte*>(call.output);
  KernelFindings findings;
  // Where results are stored that nobody wants.
  alignas(64) std::byte unwanted[kBlockElements<kStatistics> * sizeof(Out)];
  std::size_t begin = 0;
  while (call.count - begin >= kElements) {
    const std::size_t rest = (call.count - begin) / kElements;
    const std::size_t most = kBlockElements<kStatistics> / kElements;
    const std::size_t groups = rest < most ? rest : most;
    const Block<Out> block = {
        output != nullptr ? output + begin * sizeof(Out) : unwanted, groups,
        begin};
    UnscaleBlock<kStatistics, In>(input + begin * sizeof(In), block, operation,
                                  largest_that_vanishes, findings);
    begin += groups * kElements;
  }
  if (const std::size_t rest = call.count - begin; rest > 0) {
    // Zeros in the last places change nothing.
    alignas(64) std::byte last[kElements * sizeof(In)] = {};
    std::memcpy(last, input + begin * sizeof(In), rest * sizeof(In));
    UnscaleBlock<kStatistics, In>(last, Block<Out>{unwanted, 1, begin},
                                  operation, largest_that_vanishes, findings);
    if (output != nullptr) {
      std::memcpy(output + begin * sizeof(Out), unwanted, rest * sizeof(Out));
    }
  }
  return findings;
}

template <typename In, typename Out, typename Operation>
KernelFindings RunWithOrWithoutStatistics(const KernelCall& call) {
  return call.statistics ? Run<true, In, Out, Operation>(call)
                         : Run<false, In, Out, Operation>(call);
}

template <typename In, typename Out>
KernelFindings RunOperation(const KernelCall& call) {
  using T = Arithmetic<In>;
  switch (call.operation) {
    case UnscaleOperation::kKeep:
      return RunWithOrWithoutStatistics<In, Out, Keep<T>>(call);
    case UnscaleOperation::kMultiply:
      return RunWithOrWithoutStatistics<In, Out, Multiply<T>>(call);
    case UnscaleOperation::kDivide:
      return RunWithOrWithoutStatistics<In, Out, Divide<T>>(call);
  }
  return {};
}

KernelFindings RunTypes(const KernelCall& call) {
  const bool widen = call.output_type != call.input_type;
  switch (call.input_type) {
    case ElementType::kFloat32:
      return RunOperation<float, float>(call);
    case ElementType::kFloat16:
      return widen ? RunOperation<Float16, float>(call)
                   : RunOperation<Float16, Float16>(call);
    case ElementType::kBFloat16:
      return widen ? RunOperation<BFloat16, float>(call)
                   : RunOperation<BFloat16, BFloat16>(call);
    case ElementType::kFloat64:
      return RunOperation<double, double>(call);
  }
  return {};
}

}  // namespace
}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_UNSCALE_PASS_H_
