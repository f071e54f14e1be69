// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ReactionGate: lets callbacks through until it is closed, for callbacks that
// may come after what they work on is gone.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CLIENT_INTERNAL_REACTION_GATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_REACTION_GATE_H_

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {

class ReactionGate {
 public:
  // Being inside, if the gate let one in. Ends with its scope.
  class Pass {
   public:
    explicit Pass(ReactionGate* gate) : gate_(gate->Enter() ? gate : nullptr) {}
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    explicit operator bool() const { return gate_ != nullptr; }

   private:
    ReactionGate* const gate_;
  };

  // Blocks until nobody is inside; nobody gets in from here on.
  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
    while (inside_ > 0) left_.Wait(&mutex_);
  }

 private:
  bool Enter() {
    MutexLock lock(&mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    MutexLock lock(&mutex_);
    if (--inside_ == 0) left_.SignalAll();
  }

  Mutex mutex_;
  CondVar left_;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_REACTION_GATE_H_
