// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A mutex, its guards and a condition variable over the standard ones, with
// Abseil's thread annotations, so that clang's -Wthread-safety checks them and
// thread sanitizer understands them. (Debian's Abseil is not instrumented:
// absl::Mutex would make thread sanitizer report races that do not exist.)

#ifndef LOSSSCALER_SYNC_MUTEX_H_
#define LOSSSCALER_SYNC_MUTEX_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace lossscaler {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex for as long as it lives.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// Abseil's ABSL_UNLOCK_FUNCTION, which does not say how the mutex was held, is
// no annotation of a scope that takes it back.
#if ABSL_HAVE_ATTRIBUTE(release_capability)
#define LOSSSCALER_EXCLUSIVE_UNLOCK_FUNCTION(...) \
  __attribute__((release_capability(__VA_ARGS__)))
#else
#define LOSSSCALER_EXCLUSIVE_UNLOCK_FUNCTION(...)
#endif

// Releases a mutex that its thread holds for as long as it lives, and takes it
// back however its scope is left. (Of a scope, the annotation of the destructor
// means its end.)
class ABSL_SCOPED_LOCKABLE MutexUnlock {
 public:
  explicit MutexUnlock(Mutex* mutex) LOSSSCALER_EXCLUSIVE_UNLOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Unlock();
  }
  ~MutexUnlock() ABSL_UNLOCK_FUNCTION() { mutex_->Lock(); }

  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex* const mutex_;
};

// Wakes may be spurious: wait in a loop that tests the condition.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases the mutex while waiting and holds it again on return.
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // The same for at most `timeout`, on a monotonic clock; false if it ran out.
  // A wait of more than a day may end after one: the clock's arithmetic
  // overflows where time has no end.
  bool WaitFor(Mutex* mutex, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_for(
        lock, absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24))));
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void Signal() { condition_.notify_one(); }
  void SignalAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_SYNC_MUTEX_H_
