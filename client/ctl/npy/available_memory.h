// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_NPY_AVAILABLE_MEMORY_H_
#define LOSSSCALER_CTL_NPY_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <string>

namespace lossscaler::ctl {

// How many bytes this process can take without being killed or refused: the
// least of what the machine has (MemAvailable), what each of its control groups
// (version 2) leaves, and what RLIMIT_AS leaves beside the address space of
// gRPC's threads. What cannot be learnt does not count.
//
// `proc` and `cgroup` are where those file systems are mounted.
//
// Thread safety: a free function without state.
std::uint64_t AvailableMemory(const std::string& proc = "/proc",
                              const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_AVAILABLE_MEMORY_H_
