// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Course: what all callers of a run share: what they have seen, and when to
// stop.

#ifndef LOSSSCALER_TESTS_LOAD_COURSE_H_
#define LOSSSCALER_TESTS_LOAD_COURSE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "load/histogram.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::load {

// What is timed: a call from its start to its answer, a vote to its decision,
// an Unscale stream from its first message to its end.
enum class Kind {
  kCreate,
  kUpdate,
  kScaleLoss,
  kGet,
  kVote,
  kUnscale,
  kWatch,
};
inline constexpr std::array kKinds = {
    Kind::kCreate, Kind::kUpdate,  Kind::kScaleLoss, Kind::kGet,
    Kind::kVote,   Kind::kUnscale, Kind::kWatch};
std::string_view KindName(Kind kind);

// Thread safety: any thread, at any time.
class Course {
 public:
  using Clock = std::chrono::steady_clock;

  // One caller more has a call under way, or one less.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  void Stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }

  void Answered(Kind kind, Clock::time_point start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Something went wrong: an error, or an answer that cannot be.
  void Failed(Kind kind, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);

  std::int64_t under_way() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Until at most `count` are; false if that takes longer than `limit`.
  bool WaitUntilUnderWay(std::int64_t count, absl::Duration limit)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Histogram times(Kind kind) const ABSL_LOCKS_EXCLUDED(mutex_);
  // A line for each kind and reason: how often, and what the first one said.
  std::vector<std::string> errors() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Error {
    std::int64_t count = 0;
    std::string first;
  };

  std::atomic<bool> stopping_ = false;
  mutable Mutex mutex_;
  CondVar ended_;
  std::int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<Histogram, kKinds.size()> times_ ABSL_GUARDED_BY(mutex_);
  // By kind and reason.
  std::map<std::string, Error> errors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_COURSE_H_
