// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// OutgoingQueue: messages of many threads for a stream that writes one at a
// time.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CLIENT_INTERNAL_OUTGOING_QUEUE_H_
#define LOSSSCALER_CLIENT_INTERNAL_OUTGOING_QUEUE_H_

#include <deque>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {

template <typename Message>
class OutgoingQueue {
 public:
  // Starts the writing of one message, which stays where it is until
  // WriteDone(). Called under the queue's lock: must not call the queue.
  using StartWrite = std::function<void(const Message&)>;

  explicit OutgoingQueue(StartWrite start) : start_(std::move(start)) {}

  // Dropped once the stream has ended.
  void Push(Message message) {
    MutexLock lock(&mutex_);
    if (ended_) return;
    messages_.push_back(std::move(message));
    if (messages_.size() == 1) start_(messages_.front());
  }

  // The write has been done; the next one starts.
  void WriteDone() {
    MutexLock lock(&mutex_);
    messages_.pop_front();
    if (!ended_ && !messages_.empty()) start_(messages_.front());
  }

  // No further write starts.
  void End() {
    MutexLock lock(&mutex_);
    ended_ = true;
  }

 private:
  const StartWrite start_;
  Mutex mutex_;
  // The first one is being written.
  std::deque<Message> messages_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_OUTGOING_QUEUE_H_
