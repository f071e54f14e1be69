// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// LateRead: a stream's next read, put off while the client waits for an answer.
//
// gRPC tells a client that its window is open again as soon as somebody reads.
// Where the answer is not there yet that is a message of its own, and wakes a
// process that has nothing to do; a read that starts once the answer is being
// written costs nothing. So the read after a vote waits for that, but not for
// long: heartbeats come on the same stream.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_LATE_READS_H_
#define LOSSSCALER_SERVER_OPS_LATE_READS_H_

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

class LateReads;

class LateRead : public std::enable_shared_from_this<LateRead> {
 public:
  // `start` starts the read. It is called under a lock, and not after Drop().
  LateRead(LateReads* all, std::function<void()> start)
      : all_(all), start_(std::move(start)) {}

  // The read starts with the next StartNow(), or by itself before long.
  void PutOff() ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts it, if it was put off and has not started.
  void StartNow() ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream ends: what was put off does not start any more.
  void Drop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class LateReads;

  // Looked at from time to time while it is listed: starts what was put off
  // before the last look. False: it need not be listed any longer.
  bool Look() ABSL_LOCKS_EXCLUDED(mutex_);

  LateReads* const all_;
  const std::function<void()> start_;

  Mutex mutex_;
  bool put_off_ ABSL_GUARDED_BY(mutex_) = false;
  bool looked_at_ ABSL_GUARDED_BY(mutex_) = false;
  bool listed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The reads that were put off. One thread looks at them; it sleeps while there
// are none.
class LateReads {
 public:
  // Reads start within twice the `delay`.
  explicit LateReads(absl::Duration delay);
  ~LateReads();

  LateReads(const LateReads&) = delete;
  LateReads& operator=(const LateReads&) = delete;

 private:
  friend class LateRead;

  void List(std::shared_ptr<LateRead> read) ABSL_LOCKS_EXCLUDED(mutex_);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes what is listed, `delay_` after there was something. False: the end.
  bool Await(std::vector<std::shared_ptr<LateRead>>* listed)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration delay_;

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<LateRead>> listed_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_LATE_READS_H_
