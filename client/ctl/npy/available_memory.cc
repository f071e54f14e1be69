// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace lossscaler::ctl {
namespace {

constexpr std::uint64_t kKiB = 1024;
// Stacks and arenas of the threads that are still to be started: address space,
// next to no memory.
constexpr std::uint64_t kAddressSpaceOfThreads = std::uint64_t{256} << 20;

std::uint64_t Less(std::uint64_t limit, std::uint64_t used) {
  return limit > used ? limit - used : 0;
}

// The number in a file of nothing else; nullopt for "max" too.
std::optional<std::uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The number after `key` in a file of lines that begin with keys.
std::optional<std::uint64_t> NumberAfter(const std::string& path,
                                         const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    std::uint64_t number = 0;
    if (words >> first >> number && first == key) return number;
  }
  return std::nullopt;
}

// The path of this process in the one hierarchy of version 2: "0::/a/b".
std::string GroupPath(const std::string& proc) {
  std::ifstream file(proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "/";
}

std::uint64_t LeftInGroup(const std::string& folder) {
  const auto limit = NumberIn(folder + "/memory.max");
  const auto used = NumberIn(folder + "/memory.current");
  if (!limit || !used) return kNoMemoryLimit;
  // Pages of files that nobody has looked at for a while are given up first.
  const auto spare = NumberAfter(folder + "/memory.stat", "inactive_file");
  return Less(*limit, Less(*used, spare.value_or(0)));
}

// A group has what its parents leave it.
std::uint64_t LeftInGroups(const std::string& proc, const std::string& root) {
  std::string path = GroupPath(proc);
  std::uint64_t left = kNoMemoryLimit;
  while (true) {
    left = std::min(left, LeftInGroup(root + path));
    if (path.empty() || path == "/") return left;
    path.resize(path.rfind('/'));
  }
}

std::uint64_t LeftOfAddressSpace(const std::string& proc, std::uint64_t limit) {
  if (limit == kNoMemoryLimit) return limit;
  const auto used = NumberAfter(proc + "/self/status", "VmSize:");
  return Less(limit, used.value_or(0) * kKiB + kAddressSpaceOfThreads);
}

}  // namespace

std::uint64_t AddressSpaceLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kNoMemoryLimit;
  }
  return limit.rlim_cur;
}

std::uint64_t AvailableMemory(const std::string& proc,
                              const std::string& cgroup,
                              std::uint64_t address_space) {
  const auto machine = NumberAfter(proc + "/meminfo", "MemAvailable:");
  return std::min({machine ? *machine * kKiB : kNoMemoryLimit,
                   LeftInGroups(proc, cgroup),
                   LeftOfAddressSpace(proc, address_space)});
}

}  // namespace lossscaler::ctl
