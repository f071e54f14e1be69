// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_NPY_AVAILABLE_MEMORY_H_
#define LOSSSCALER_CTL_NPY_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <limits>
#include <string>

namespace lossscaler::ctl {

inline constexpr std::uint64_t kNoMemoryLimit =
    std::numeric_limits<std::uint64_t>::max();

// RLIMIT_AS of this process, in bytes; kNoMemoryLimit if there is none.
std::uint64_t AddressSpaceLimit();

// How many bytes this process can take without being killed or refused: the
// least of what the machine has (MemAvailable), what each of its control groups
// (version 2) leaves, and what `address_space` leaves beside the address space
// of gRPC's threads. What cannot be learnt does not count.
//
// `proc` and `cgroup` are where those file systems are mounted.
//
// Thread safety: a free function without state.
std::uint64_t AvailableMemory(
    const std::string& proc = "/proc",
    const std::string& cgroup = "/sys/fs/cgroup",
    std::uint64_t address_space = AddressSpaceLimit());

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_NPY_AVAILABLE_MEMORY_H_
