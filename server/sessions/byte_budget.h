// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ByteBudget: memory that a server lends out, up to a limit.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_SESSIONS_BYTE_BUDGET_H_
#define LOSSSCALER_SERVER_SESSIONS_BYTE_BUDGET_H_

#include <cstdint>

#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class ByteBudget {
 public:
  explicit ByteBudget(std::int64_t limit) : limit_(limit) {}

  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // True: `bytes` are the caller's until Return(). False: too much is out.
  bool TryTake(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (bytes > limit_ - taken_) return false;
    taken_ += bytes;
    return true;
  }

  void Return(std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    taken_ -= bytes;
  }

  std::int64_t taken() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return taken_;
  }
  std::int64_t limit() const { return limit_; }

 private:
  const std::int64_t limit_;
  mutable Mutex mutex_;
  std::int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_BYTE_BUDGET_H_
