// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/process/memory.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace lossscaler::bench {

absl::StatusOr<Footprint> FootprintOf(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  Footprint footprint;
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> footprint.resident_kib;
    if (word == "VmHWM:") status >> footprint.peak_resident_kib;
    if (word == "Threads:") status >> footprint.threads;
  }
  if (footprint.resident_kib > 0) return footprint;
  return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
}

}  // namespace lossscaler::bench
