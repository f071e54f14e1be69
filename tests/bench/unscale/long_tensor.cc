// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/unscale/long_tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace lossscaler::bench {
namespace {

// Maps `memory` over and over, until `bytes` from `address` on are filled.
bool Repeat(int memory, std::size_t memory_bytes, std::byte* address,
            std::size_t bytes) {
  if (ftruncate(memory, static_cast<off_t>(memory_bytes)) != 0) return false;
  for (std::size_t at = 0; at < bytes; at += memory_bytes) {
    if (mmap(address + at, std::min(memory_bytes, bytes - at),
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
             memory, 0) == MAP_FAILED) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LongTensor>> LongTensor::Make(
    std::size_t bytes) {
  void* const address =
      mmap(nullptr, bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    return absl::ResourceExhaustedError("no addresses are left");
  }
  std::unique_ptr<LongTensor> tensor(new LongTensor(address, bytes));
  const std::size_t memory_bytes = std::min(bytes, kMemoryBytes);
  const int memory = memfd_create("gradients", MFD_CLOEXEC);
  const bool filled =
      memory >= 0 &&
      Repeat(memory, memory_bytes, static_cast<std::byte*>(address), bytes);
  if (memory >= 0) close(memory);
  if (!filled) return absl::ResourceExhaustedError("no memory is left");
  const std::span<float> values =
      tensor->values().first(memory_bytes / sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 1 + static_cast<float>(i % 101) / 128;
  }
  return tensor;
}

LongTensor::~LongTensor() { munmap(address_, bytes_); }

}  // namespace lossscaler::bench
