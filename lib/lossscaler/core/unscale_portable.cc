// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The unscale kernel for every machine.

#define Eigen EigenOfUnscalePortable
#include "Eigen/Core"
// Eigen first: these use it under its other name.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_kernel.h"

namespace lossscaler {
namespace {

constexpr std::size_t kGroupElements = Group<float>::kElements;

template <typename Sixteen>
struct Words {
  Sixteen elements[kGroupElements];
};

// The loops below are vectorised only if they have not been unrolled before.

template <typename Sixteen>
void Widen(const Words<Sixteen>& words, Group<float>& group) {
  std::uint32_t bits[kGroupElements];
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kGroupElements; ++i) {
    bits[i] = WidenedBits(words.elements[i]);
  }
  float values[kGroupElements];
  std::memcpy(values, bits, sizeof(values));
  Load(reinterpret_cast<const std::byte*>(values), group);
}

template <typename Sixteen>
Words<Sixteen> LoadWords(const std::byte* from, Sixteen /*type*/) {
  Words<Sixteen> words;
  std::memcpy(words.elements, from, sizeof(words.elements));
  return words;
}

template <typename In, typename Out>
void Load(const std::byte* from, Group<float>& group, In in, Out /*out*/) {
  Widen(LoadWords(from, in), group);
}

template <typename Out>
Words<Out> Narrow(const Group<float>& group, Out /*out*/) {
  float values[kGroupElements];
  Store(group, reinterpret_cast<std::byte*>(values));
  Words<Out> words;
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kGroupElements; ++i) {
    words.elements[i] = Nearest(values[i], Out{});
  }
  return words;
}

template <typename Out>
void StoreWords(const Words<Out>& words, std::byte* to) {
  std::memcpy(to, words.elements, sizeof(words.elements));
}

template <typename Out>
class WordsMaximum {
 public:
  void Raise(const Words<Out>& words) {
#pragma GCC unroll 1
    for (std::size_t i = 0; i < kGroupElements; ++i) {
      const auto magnitude =
          static_cast<std::int16_t>(words.elements[i].bits & 0x7fff);
      lanes_[i] = magnitude > lanes_[i] ? magnitude : lanes_[i];
    }
  }
  Out maximum() const {
    std::int16_t maximum = 0;
    for (const std::int16_t lane : lanes_) {
      maximum = lane > maximum ? lane : maximum;
    }
    return {static_cast<std::uint16_t>(maximum)};
  }

 private:
  std::int16_t lanes_[kGroupElements] = {};
};

}  // namespace
}  // namespace lossscaler

#include "lossscaler/core/unscale_pass.h"

namespace lossscaler {

KernelFindings UnscalePortable(const KernelCall& call) {
  return RunTypes(call);
}

}  // namespace lossscaler
