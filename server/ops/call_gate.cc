// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/call_gate.h"

#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {

absl::Status CallGate::Enter() {
  MutexLock lock(&mutex_);
  if (closed_) return Draining();
  if (open_ < limits_.max_open_calls) {
    ++open_;
    return absl::OkStatus();
  }
  return MakeRetryableError(
      Reason::kTooManyCalls,
      absl::StrCat("the server has ", limits_.max_open_calls,
                   " calls open, which is its limit; try again later"),
      limits_.retry_delay,
      {{"open", absl::StrCat(open_)},
       {"limit", absl::StrCat(limits_.max_open_calls)}});
}

void CallGate::Leave() {
  MutexLock lock(&mutex_);
  --open_;
  SignalIfEmpty();
}

absl::Status CallGate::EnterLasting() {
  MutexLock lock(&mutex_);
  if (closed_) return Draining();
  ++lasting_;
  return absl::OkStatus();
}

void CallGate::LeaveLasting() {
  MutexLock lock(&mutex_);
  --lasting_;
  SignalIfEmpty();
}

void CallGate::BecomeLasting() {
  MutexLock lock(&mutex_);
  --open_;
  ++lasting_;
}

absl::Status CallGate::Draining() const {
  return MakeRetryableError(
      Reason::kDraining,
      "the server is shutting down; call again, it may be restarted",
      limits_.retry_delay);
}

void CallGate::SignalIfEmpty() {
  // Under the lock: the waiter may destroy the gate as soon as it sees zero.
  if (open_ + lasting_ == 0) changed_.SignalAll();
}

void CallGate::Close() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
  }
  refusals_.End();
}

bool CallGate::WaitUntilEmpty(absl::Duration timeout) {
  const auto start = std::chrono::steady_clock::now();
  MutexLock lock(&mutex_);
  while (open_ + lasting_ > 0 && !impatient_) {
    const absl::Duration left =
        timeout - absl::FromChrono(std::chrono::steady_clock::now() - start);
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(&mutex_, left);
  }
  return open_ + lasting_ == 0;
}

void CallGate::StopWaiting() {
  MutexLock lock(&mutex_);
  impatient_ = true;
  changed_.SignalAll();
}

std::int64_t CallGate::open() const {
  MutexLock lock(&mutex_);
  return open_ + lasting_;
}

}  // namespace lossscaler::server
