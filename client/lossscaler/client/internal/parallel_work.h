// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Work on the caller's memory, shared among threads.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_INTERNAL_PARALLEL_WORK_H_
#define LOSSSCALER_CLIENT_INTERNAL_PARALLEL_WORK_H_

#include <cstddef>
#include <functional>

namespace lossscaler::internal {

// How many processors the calling thread may run on: what the machine has, or
// what taskset, a container's set of processors or a launcher has left.
std::size_t UsableProcessors();

// Calls work(i) once for each i below `count`, from `threads` threads, the
// caller's among them, and returns when all calls have. Indices are handed out
// in order. With fewer threads if the system has no more.
//
// `work` is called from several threads at once and does not throw.
void ShareWork(std::size_t count, std::size_t threads,
               const std::function<void(std::size_t)>& work);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_PARALLEL_WORK_H_
