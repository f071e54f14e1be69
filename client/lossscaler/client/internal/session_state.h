// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_SESSION_STATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_SESSION_STATE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/session.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler {

// What the copies of a Session share.
//
// Thread safety: any thread, at any time.
struct Session::State {
 public:
  State(std::shared_ptr<Connection> connection_in, const SessionInfo& info)
      : connection(std::move(connection_in)),
        ref{.name = info.name, .uid = info.uid},
        config(info.config),
        current_(info.current) {}

  Current current() const {
    MutexLock lock(&mutex_);
    return current_;
  }

  // Takes what the server says unless something newer is known: a replayed
  // answer may be older than another thread's.
  void Learn(const Current& heard) {
    MutexLock lock(&mutex_);
    if (std::pair(heard.epoch, heard.step) >=
        std::pair(current_.epoch, current_.step)) {
      current_ = heard;
    }
  }

  const std::shared_ptr<Connection> connection;
  const SessionRef ref;
  const LossScaler config;

 private:
  mutable Mutex mutex_;
  Current current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_INTERNAL_SESSION_STATE_H_
