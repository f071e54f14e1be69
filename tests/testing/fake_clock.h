// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FakeClock: a client's clock on which sleeping takes no time.

#ifndef LOSSSCALER_TESTS_TESTING_FAKE_CLOCK_H_
#define LOSSSCALER_TESTS_TESTING_FAKE_CLOCK_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "lossscaler/client/options.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::testing {

class FakeClock : public Clock {
 public:
  absl::Time Now() override {
    MutexLock lock(&mutex_);
    return now_;
  }

  // Moves the time on and returns at once.
  void Sleep(absl::Duration duration) override {
    MutexLock lock(&mutex_);
    now_ += duration;
    sleeps_.push_back(duration);
  }

  // Time that passes in an attempt, not in a sleep.
  void Advance(absl::Duration duration) {
    MutexLock lock(&mutex_);
    now_ += duration;
  }

  std::vector<absl::Duration> sleeps() const {
    MutexLock lock(&mutex_);
    return sleeps_;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'000);
  std::vector<absl::Duration> sleeps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_FAKE_CLOCK_H_
