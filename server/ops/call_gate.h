// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// CallGate: counts the calls that are open, lets no more in than the server can
// hold, and closes for the drain.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_CALL_GATE_H_
#define LOSSSCALER_SERVER_OPS_CALL_GATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"
#include "ops/refusal_pace.h"
#include "sessions/limits.h"

namespace lossscaler::server {

class CallGate {
 public:
  explicit CallGate(const Limits& limits = {}) : limits_(limits) {}

  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;

  // OK: the call is counted until Leave(). DRAINING: the gate is closed.
  // TOO_MANY_CALLS: limits.max_open_calls are open. Both with RetryInfo.
  absl::Status Enter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for a call that stays open as long as its client likes, and whose
  // number something else bounds: it takes no place from the others.
  absl::Status EnterLasting() ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveLasting() ABSL_LOCKS_EXCLUDED(mutex_);
  // A call that came by Enter() has become such a one.
  void BecomeLasting() ABSL_LOCKS_EXCLUDED(mutex_);

  // For calls that came in and are beyond another limit.
  RefusalPace& refusals() { return refusals_; }

  // What calls are told that a closed gate ends or refuses: DRAINING.
  absl::Status Draining() const;

  // From now on Enter() returns DRAINING, and nobody who is refused waits.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until no call is open; false if that took longer than `timeout`, or
  // if somebody stopped waiting.
  bool WaitUntilEmpty(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends WaitUntilEmpty() at once, now and later.
  void StopWaiting() ABSL_LOCKS_EXCLUDED(mutex_);

  // The calls that are open, of both kinds.
  std::int64_t open() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void SignalIfEmpty() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool impatient_ ABSL_GUARDED_BY(mutex_) = false;
  // Of Enter(), and of EnterLasting() or BecomeLasting().
  std::int64_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t lasting_ ABSL_GUARDED_BY(mutex_) = 0;

  // Last: what it refuses leaves the gate.
  RefusalPace refusals_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_CALL_GATE_H_
