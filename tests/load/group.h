// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Groups under load: workers that vote as fast as decisions fall, and who
// watches them.

#ifndef LOSSSCALER_TESTS_LOAD_GROUP_H_
#define LOSSSCALER_TESTS_LOAD_GROUP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "load/caller.h"
#include "load/course.h"
#include "load/sessions.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::load {

// The step after which the workers of a group stop: the highest that any of
// them has voted on when the course stops. All of them vote on that one, so
// that no vote is left waiting.
//
// Thread safety: any thread, at any time.
class CommonEnd {
 public:
  explicit CommonEnd(const Course* course) : course_(course) {}

  // Whether a worker is to vote on `step`.
  bool Admits(std::int64_t step) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Course* const course_;
  Mutex mutex_;
  std::int64_t highest_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A worker of `session`: joins, opens its stream and votes FINITE until the
// common end. When it has ended, `acknowledged()` is the number of its
// decisions.
class LoadWorker : public Caller {
 public:
  virtual std::int64_t acknowledged() const = 0;
};
absl::StatusOr<std::unique_ptr<LoadWorker>> Join(Course* course, Stub* stub,
                                                 const LoadSession& session,
                                                 const std::string& worker,
                                                 CommonEnd* end);

// Watches `session` from its first step on; every decision must come once, in
// order.
class LoadWatcher : public Caller {
 public:
  // Ends once it has seen `step`.
  virtual void EndAt(std::int64_t step) = 0;
};
std::unique_ptr<LoadWatcher> MakeWatcher(Course* course, Stub* stub,
                                         const LoadSession& session);

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_GROUP_H_
