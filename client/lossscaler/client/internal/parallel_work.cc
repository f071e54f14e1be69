// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/parallel_work.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace lossscaler::internal {

std::size_t UsableProcessors() {
  cpu_set_t processors;
  // Fails on machines with more than CPU_SETSIZE processors.
  if (sched_getaffinity(0, sizeof(processors), &processors) == 0) {
    return static_cast<std::size_t>(CPU_COUNT(&processors));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void ShareWork(std::size_t count, std::size_t threads,
               const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      work(i);
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t i = 1; i < std::min(threads, count); ++i) {
      others.emplace_back(take);
    }
  } catch (const std::system_error&) {
    // No more threads: those that there are do it all.
  }
  take();
  for (std::thread& other : others) other.join();
}

}  // namespace lossscaler::internal
