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

#include "lossscaler/core/sixteen_bits.h"
#include "lossscaler/core/unscale_group.h"
#include "lossscaler/core/unscale_kernel.h"

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

}  // namespace
}  // namespace lossscaler

#include "lossscaler/core/unscale_pass.h"

namespace lossscaler {

KernelFindings UnscaleAvx2(const KernelCall& call) { return RunTypes(call); }

}  // namespace lossscaler

#endif  // defined(__x86_64__)
