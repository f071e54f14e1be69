// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/kernels/by_hand.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lossscaler::bench {
namespace {

// Not finite if any value was not.
bool IsClean(__m256 poison) {
  return _mm256_movemask_ps(_mm256_cmp_ps(poison, poison, _CMP_UNORD_Q)) == 0;
}

__m256 Poisoned(__m256 poison, __m256 value) {
  return _mm256_add_ps(poison, _mm256_sub_ps(value, value));
}

__m128i LoadEight(const std::uint16_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

}  // namespace

bool DivideFloat32Only(const void* input, std::size_t count, void* output,
                       float scale) {
  const auto* from = static_cast<const float*>(input);
  auto* to = static_cast<float*>(output);
  const __m256 divisor = _mm256_set1_ps(scale);
  for (std::size_t i = 0; i < count; i += 16) {
    const __m256 low = _mm256_div_ps(_mm256_loadu_ps(from + i), divisor);
    const __m256 high = _mm256_div_ps(_mm256_loadu_ps(from + i + 8), divisor);
    _mm256_storeu_ps(to + i, low);
    _mm256_storeu_ps(to + i + 8, high);
  }
  return true;
}

bool DivideFloat64Only(const void* input, std::size_t count, void* output,
                       float scale) {
  const auto* from = static_cast<const double*>(input);
  auto* to = static_cast<double*>(output);
  const __m256d divisor = _mm256_set1_pd(static_cast<double>(scale));
  for (std::size_t i = 0; i < count; i += 8) {
    const __m256d low = _mm256_div_pd(_mm256_loadu_pd(from + i), divisor);
    const __m256d high = _mm256_div_pd(_mm256_loadu_pd(from + i + 4), divisor);
    _mm256_storeu_pd(to + i, low);
    _mm256_storeu_pd(to + i + 4, high);
  }
  return true;
}

bool Float16ToFloat32ByHand(const void* input, std::size_t count, void* output,
                            float scale) {
  const auto* from = static_cast<const std::uint16_t*>(input);
  auto* to = static_cast<float*>(output);
  const __m256 divisor = _mm256_set1_ps(scale);
  __m256 poison[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t i = 0; i < count; i += 16) {
    const __m256 low =
        _mm256_div_ps(_mm256_cvtph_ps(LoadEight(from + i)), divisor);
    const __m256 high =
        _mm256_div_ps(_mm256_cvtph_ps(LoadEight(from + i + 8)), divisor);
    _mm256_storeu_ps(to + i, low);
    _mm256_storeu_ps(to + i + 8, high);
    poison[0] = Poisoned(poison[0], low);
    poison[1] = Poisoned(poison[1], high);
  }
  return IsClean(_mm256_add_ps(poison[0], poison[1]));
}

bool Float16ByHand(const void* input, std::size_t count, void* output,
                   float scale) {
  const auto* from = static_cast<const std::uint16_t*>(input);
  auto* to = static_cast<std::uint16_t*>(output);
  const __m256 divisor = _mm256_set1_ps(scale);
  const __m128i magnitude = _mm_set1_epi16(0x7fff);
  __m128i largest = _mm_setzero_si128();
  for (std::size_t i = 0; i < count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(
        _mm256_div_ps(_mm256_cvtph_ps(LoadEight(from + i)), divisor),
        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
    largest = _mm_max_epi16(largest, _mm_and_si128(half, magnitude));
  }
  const __m128i bad = _mm_cmpgt_epi16(largest, _mm_set1_epi16(0x7bff));
  return _mm_testz_si128(bad, bad) != 0;
}

bool BFloat16ToFloat32ByHand(const void* input, std::size_t count, void* output,
                             float scale) {
  const auto* from = static_cast<const std::uint16_t*>(input);
  auto* to = static_cast<float*>(output);
  const __m256 divisor = _mm256_set1_ps(scale);
  const auto widened = [](const std::uint16_t* eight) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(LoadEight(eight)), 16));
  };
  __m256 poison[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t i = 0; i < count; i += 16) {
    const __m256 low = _mm256_div_ps(widened(from + i), divisor);
    const __m256 high = _mm256_div_ps(widened(from + i + 8), divisor);
    _mm256_storeu_ps(to + i, low);
    _mm256_storeu_ps(to + i + 8, high);
    poison[0] = Poisoned(poison[0], low);
    poison[1] = Poisoned(poison[1], high);
  }
  return IsClean(_mm256_add_ps(poison[0], poison[1]));
}

bool BFloat16ByHand(const void* input, std::size_t count, void* output,
                    float scale) {
  const auto* from = static_cast<const std::uint16_t*>(input);
  auto* to = static_cast<std::uint16_t*>(output);
  const __m256 divisor = _mm256_set1_ps(scale);
  const __m256i magnitude = _mm256_set1_epi16(0x7fff);
  // To nearest, ties to even, in the high half of each float.
  const auto rounded = [](__m256 value) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i even =
        _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x10000)),
                           _mm256_setzero_si256());
    return _mm256_add_epi32(bits,
                            _mm256_add_epi32(_mm256_set1_epi32(0x8000), even));
  };
  __m256i largest = _mm256_setzero_si256();
  for (std::size_t i = 0; i < count; i += 16) {
    const __m256i words =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
    const __m256 odd = _mm256_castsi256_ps(
        _mm256_and_si256(words, _mm256_set1_epi32(~0xffff)));
    const __m256i results = _mm256_blend_epi16(
        _mm256_srli_epi32(rounded(_mm256_div_ps(even, divisor)), 16),
        rounded(_mm256_div_ps(odd, divisor)), 0b10101010);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), results);
    largest = _mm256_max_epi16(largest, _mm256_and_si256(results, magnitude));
  }
  const __m256i bad = _mm256_cmpgt_epi16(largest, _mm256_set1_epi16(0x7f7f));
  return _mm256_testz_si256(bad, bad) != 0;
}

}  // namespace lossscaler::bench
