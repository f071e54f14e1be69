// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// LongTensor: as many gradients as one likes over a little memory.

#ifndef LOSSSCALER_TESTS_BENCH_UNSCALE_LONG_TENSOR_H_
#define LOSSSCALER_TESTS_BENCH_UNSCALE_LONG_TENSOR_H_

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

namespace lossscaler::bench {

// One run of addresses, behind which the same memory lies again and again. Two
// elements a multiple of kMemoryBytes apart are one: whatever is under way at a
// time must be less than that, so that a stream never meets itself.
class LongTensor {
 public:
  // More than the caches hold.
  static constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;

  // `bytes` is a multiple of the size of a page. Every value is between 1
  // and 2.
  static absl::StatusOr<std::unique_ptr<LongTensor>> Make(std::size_t bytes);

  ~LongTensor();
  LongTensor(const LongTensor&) = delete;
  LongTensor& operator=(const LongTensor&) = delete;

  std::span<float> values() const {
    return {static_cast<float*>(address_), bytes_ / sizeof(float)};
  }

 private:
  LongTensor(void* address, std::size_t bytes)
      : address_(address), bytes_(bytes) {}

  void* const address_;
  const std::size_t bytes_;
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_UNSCALE_LONG_TENSOR_H_
