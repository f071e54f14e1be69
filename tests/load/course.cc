// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "load/course.h"

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::load {

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kCreate:
      return "create";
    case Kind::kUpdate:
      return "update";
    case Kind::kScaleLoss:
      return "scale-loss";
    case Kind::kGet:
      return "get";
    case Kind::kVote:
      return "vote";
    case Kind::kUnscale:
      return "unscale";
    case Kind::kWatch:
      return "watch";
  }
  return "";
}

void Course::Begin() {
  MutexLock lock(&mutex_);
  ++under_way_;
}

void Course::End() {
  MutexLock lock(&mutex_);
  --under_way_;
  ended_.SignalAll();
}

void Course::Answered(Kind kind, Clock::time_point start) {
  const absl::Duration taken = absl::FromChrono(Clock::now() - start);
  MutexLock lock(&mutex_);
  times_[static_cast<std::size_t>(kind)].Add(taken);
}

void Course::Failed(Kind kind, const absl::Status& status) {
  std::string reason = ReasonNameOf(status);
  if (reason.empty()) reason = absl::StatusCodeToString(status.code());
  MutexLock lock(&mutex_);
  Error& error =
      errors_[absl::StrCat(std::string(KindName(kind)), " ", reason)];
  if (++error.count == 1) error.first = std::string(status.message());
}

std::int64_t Course::under_way() const {
  MutexLock lock(&mutex_);
  return under_way_;
}

bool Course::WaitUntilUnderWay(std::int64_t count, absl::Duration limit) {
  const Clock::time_point start = Clock::now();
  MutexLock lock(&mutex_);
  while (under_way_ > count) {
    const absl::Duration left = limit - absl::FromChrono(Clock::now() - start);
    if (left <= absl::ZeroDuration()) return false;
    ended_.WaitFor(&mutex_, left);
  }
  return true;
}

Histogram Course::times(Kind kind) const {
  MutexLock lock(&mutex_);
  return times_[static_cast<std::size_t>(kind)];
}

std::vector<std::string> Course::errors() const {
  MutexLock lock(&mutex_);
  std::vector<std::string> lines;
  for (const auto& [what, error] : errors_) {
    lines.push_back(absl::StrCat(error.count, " x ", what, ": ", error.first));
  }
  return lines;
}

}  // namespace lossscaler::load
