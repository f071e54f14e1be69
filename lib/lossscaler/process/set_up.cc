// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/process/set_up.h"

#include <malloc.h>

#include "absl/synchronization/mutex.h"

namespace lossscaler {
namespace {

void KeepMemory() {
  // The largest that glibc accepts. What is larger is mapped and unmapped by
  // the kernel each time; a chunk is at most 4 MiB.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}

}  // namespace

void SetUpProcess() {
  KeepMemory();
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace lossscaler
