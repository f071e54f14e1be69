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
void Widen(const std::byte* from, Group<float>& group) {
  Sixteen narrow[kGroupElements];
  std::memcpy(narrow, from, sizeof(narrow));
  std::uint32_t bits[kGroupElements];
  for (std::size_t i = 0; i < kGroupElements; ++i) {
    bits[i] = WidenedBits(narrow[i]);
  }
  float wide[kGroupElements];
  std::memcpy(wide, bits, sizeof(wide));
  Load(reinterpret_cast<const std::byte*>(wide), group, float{});
}

void Load(const std::byte* from, Group<float>& group, Float16 /*stored_type*/) {
  Widen<Float16>(from, group);
}

void Load(const std::byte* from, Group<float>& group,
          BFloat16 /*stored_type*/) {
  Widen<BFloat16>(from, group);
}

void Store(Group<float>& group, std::byte* to, Float16 stored_type) {
  float wide[kGroupElements];
  Store(group, reinterpret_cast<std::byte*>(wide), float{});
  std::uint16_t narrow[kGroupElements];
  for (std::size_t i = 0; i < kGroupElements; ++i) {
    narrow[i] = NearestFloat16(wide[i]);
  }
  std::memcpy(to, narrow, sizeof(narrow));
  Load(reinterpret_cast<const std::byte*>(narrow), group, stored_type);
}

void Store(Group<float>& group, std::byte* to, BFloat16 stored_type) {
  float wide[kGroupElements];
  Store(group, reinterpret_cast<std::byte*>(wide), float{});
  std::uint16_t narrow[kGroupElements];
  for (std::size_t i = 0; i < kGroupElements; ++i) {
    narrow[i] = NearestBFloat16(wide[i]);
  }
  std::memcpy(to, narrow, sizeof(narrow));
  Load(reinterpret_cast<const std::byte*>(narrow), group, stored_type);
}

}  // namespace
}  // namespace lossscaler

#include "lossscaler/core/unscale_pass.h"

namespace lossscaler {

KernelFindings UnscalePortable(const KernelCall& call) {
  return RunTypes(call);
}

}  // namespace lossscaler
