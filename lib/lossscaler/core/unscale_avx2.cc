// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The unscale kernel for x86-64 with AVX2 and F16C; nothing elsewhere.

#if defined(__x86_64__)

// Eigen finds out by itself under clang++ only, and uses these intrinsics
// without including them.
#include <immintrin.h>
#define EIGEN_HAS_FP16_C
#define Eigen EigenOfUnscaleAvx2
#include "Eigen/Core"
// Eigen first: these use it under its other name.
#include <cstddef>
#include <cstdint>

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_kernel.h"
#include "lossscaler/core/vanished_counter.h"

namespace lossscaler {
namespace {

using Eigen::internal::Packet8bf;
using Eigen::internal::Packet8f;
using Eigen::internal::Packet8h;
using Eigen::internal::Packet8i;

__m128i Load128(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

template <typename Packet16Bits>
void LoadInOrder(const std::byte* from, Group<float>& group) {
  for (Packet8f& packet : group.packets) {
    packet = Eigen::internal::pcast<Packet16Bits, Packet8f>(
        Packet16Bits(Load128(from)));
    from += sizeof(__m128i);
  }
}

template <typename Sixteen>
struct Words;

template <>
struct Words<Float16> {
  Packet8h halves[2];
};

// In the order of memory; the even elements are in the first packet of a group
// and the odd ones in the second. That takes fewer shifts and shuffles, which
// are done where divisions are.
template <>
struct Words<BFloat16> {
  __m256i bits;
};

template <typename Out>
void Load(const std::byte* from, Group<float>& group, Float16 /*in*/,
          Out /*out*/) {
  LoadInOrder<Packet8h>(from, group);
}

void Load(const std::byte* from, Group<float>& group, BFloat16 /*in*/,
          float /*out*/) {
  LoadInOrder<Packet8bf>(from, group);
}

void Widen(const Words<BFloat16>& words, Group<float>& group) {
  namespace e = Eigen::internal;
  const Packet8i even = e::plogical_shift_left<16>(Packet8i(words.bits));
  const Packet8i odd =
      e::pand(Packet8i(words.bits), e::pset1<Packet8i>(~0xffff));
  group.packets[0] = e::preinterpret<Packet8f, Packet8i>(even);
  group.packets[1] = e::preinterpret<Packet8f, Packet8i>(odd);
}

Words<Float16> LoadWords(const std::byte* from, Float16 /*type*/) {
  return {Packet8h(Load128(from)), Packet8h(Load128(from + sizeof(__m128i)))};
}

Words<BFloat16> LoadWords(const std::byte* from, BFloat16 /*type*/) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
}

void Load(const std::byte* from, Group<float>& group, BFloat16 in,
          BFloat16 /*out*/) {
  Widen(LoadWords(from, in), group);
}

Words<Float16> Narrow(const Group<float>& group, Float16 /*out*/) {
  using Eigen::internal::pcast;
  return {pcast<Packet8f, Packet8h>(group.packets[0]),
          pcast<Packet8f, Packet8h>(group.packets[1])};
}

void Widen(const Words<Float16>& words, Group<float>& group) {
  for (std::size_t i = 0; i < 2; ++i) {
    group.packets[i] =
        Eigen::internal::pcast<Packet8h, Packet8f>(words.halves[i]);
  }
}

void StoreWords(const Words<Float16>& words, std::byte* to) {
  for (const Packet8h& half : words.halves) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), half);
    to += sizeof(__m128i);
  }
}

// As Nearest(), in the high half of each float.
Packet8i RoundToBFloat16(const Packet8f& value) {
  namespace e = Eigen::internal;
  const Packet8i zero = _mm256_setzero_si256();
  const Packet8i unit = e::pset1<Packet8i>(0x10000);
  const Packet8i half = e::pset1<Packet8i>(0x8000);
  const auto bits = e::preinterpret<Packet8i, Packet8f>(value);
  // -1 if it is even already.
  const Packet8i even = e::pcmp_eq(e::pand(bits, unit), zero);
  return e::padd(bits, e::padd(half, even));
}

// Eigen's cast costs two thirds more, and loses the sign of a NaN.
Words<BFloat16> Narrow(const Group<float>& group, BFloat16 /*out*/) {
  const Packet8i even = RoundToBFloat16(group.packets[0]);
  const Packet8i odd = RoundToBFloat16(group.packets[1]);
  return {_mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0b10101010)};
}

void StoreWords(const Words<BFloat16>& words, std::byte* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words.bits);
}

template <typename Out>
Out LargestOf(__m128i magnitudes) {
  // There is an instruction for the smallest alone.
  const __m128i ones = _mm_set1_epi16(-1);
  const __m128i smallest = _mm_minpos_epu16(_mm_xor_si128(magnitudes, ones));
  return {static_cast<std::uint16_t>(~_mm_extract_epi16(smallest, 0))};
}

template <typename Out>
class WordsMaximum;

template <>
class WordsMaximum<Float16> {
 public:
  void Raise(const Words<Float16>& words) {
    for (const Packet8h& half : words.halves) {
      magnitudes_ = _mm_max_epi16(magnitudes_,
                                  _mm_and_si128(half, _mm_set1_epi16(0x7fff)));
    }
  }
  Float16 maximum() const { return LargestOf<Float16>(magnitudes_); }

 private:
  __m128i magnitudes_ = _mm_setzero_si128();
};

template <>
class WordsMaximum<BFloat16> {
 public:
  void Raise(const Words<BFloat16>& words) {
    magnitudes_ = _mm256_max_epi16(
        magnitudes_, _mm256_and_si256(words.bits, _mm256_set1_epi16(0x7fff)));
  }
  BFloat16 maximum() const {
    return LargestOf<BFloat16>(
        _mm_max_epi16(_mm256_castsi256_si128(magnitudes_),
                      _mm256_extracti128_si256(magnitudes_, 1)));
  }

 private:
  __m256i magnitudes_ = _mm256_setzero_si256();
};

// On integers: comparisons of floats are done where divisions are, and would
// hold them up.
template <>
class VanishedCounter<float> {
 public:
  explicit VanishedCounter(float largest_that_vanishes)
      : bound_(_mm256_set1_epi32(static_cast<int>(
            2 * __builtin_bit_cast(std::uint32_t, largest_that_vanishes) +
            0x80000000u))) {}

  // Without its sign and less one, zero is the largest of unsigned integers;
  // the highest bit is turned because comparisons are signed.
  void Add(std::size_t i, const Packet8f& before) {
    namespace e = Eigen::internal;
    const auto bits = e::preinterpret<Packet8i, Packet8f>(before);
    const Packet8i order =
        e::padd(e::padd(bits, bits), e::pset1<Packet8i>(0x7fffffff));
    counts_[i] = e::psub(counts_[i], _mm256_cmpgt_epi32(bound_, order));
  }

  std::uint64_t count() const {
    namespace e = Eigen::internal;
    int lanes[8];
    e::pstoreu(lanes, e::padd(counts_[0], counts_[1]));
    std::uint64_t sum = 0;
    for (const int lane : lanes) sum += static_cast<std::uint64_t>(lane);
    return sum;
  }

 private:
  Packet8i bound_;
  Packet8i counts_[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
};

}  // namespace
}  // namespace lossscaler

#include "lossscaler/core/unscale_pass.h"

namespace lossscaler {

KernelFindings UnscaleAvx2(const KernelCall& call) { return RunTypes(call); }

}  // namespace lossscaler

#endif  // defined(__x86_64__)
