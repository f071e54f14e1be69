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

template <typename Packet16Bits>
Packet16Bits Load8(const std::byte* from) {
  return Packet16Bits(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

void Load(const std::byte* from, Group<float>& group, Float16 /*stored_type*/) {
  for (Packet8f& packet : group.packets) {
    packet = Eigen::internal::pcast<Packet8h, Packet8f>(Load8<Packet8h>(from));
    from += sizeof(Packet8h);
  }
}

void Load(const std::byte* from, Group<float>& group,
          BFloat16 /*stored_type*/) {
  for (Packet8f& packet : group.packets) {
    packet =
        Eigen::internal::pcast<Packet8bf, Packet8f>(Load8<Packet8bf>(from));
    from += sizeof(Packet8bf);
  }
}

void Store(Group<float>& group, std::byte* to, Float16 /*stored_type*/) {
  for (Packet8f& packet : group.packets) {
    const auto narrow = Eigen::internal::pcast<Packet8f, Packet8h>(packet);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), narrow);
    packet = Eigen::internal::pcast<Packet8h, Packet8f>(narrow);
    to += sizeof(Packet8h);
  }
}

// NearestBFloat16(), whose restriction on NaNs Eigen's cast does without: it
// costs two thirds more, and loses the sign of a NaN.
void Store(Group<float>& group, std::byte* to, BFloat16 /*stored_type*/) {
  namespace e = Eigen::internal;
  const Packet8i one = e::pset1<Packet8i>(1);
  const Packet8i almost_half = e::pset1<Packet8i>(0x7fff);
  Packet8i rounded[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto bits = e::preinterpret<Packet8i, Packet8f>(group.packets[i]);
    const Packet8i odd = e::pand(e::plogical_shift_right<16>(bits), one);
    rounded[i] =
        e::plogical_shift_right<16>(e::padd(bits, e::padd(odd, almost_half)));
    group.packets[i] = e::preinterpret<Packet8f, Packet8i>(
        e::plogical_shift_left<16>(rounded[i]));
  }
  // Packs the halves of each register by themselves: 0 2 1 3.
  const __m256i packed = _mm256_permute4x64_epi64(
      _mm256_packus_epi32(rounded[0], rounded[1]), 0b11011000);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
}

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
