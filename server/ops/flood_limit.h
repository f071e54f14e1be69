// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FloodLimit: how many lines of one event a log takes, and what it left out.
//
// Each event at each level has a bucket of its own, so that the many of one
// kind hide none of another. What is left out is counted, and told once in a
// while. Errors are ours and debug lines the operator's choice: neither is
// limited.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_FLOOD_LIMIT_H_
#define LOSSSCALER_SERVER_OPS_FLOOD_LIMIT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"
#include "ops/log.h"

namespace lossscaler::server {

class FloodLimit {
 public:
  struct Rate {
    // Lines at once, >= 1, and from then on. > 0.
    double burst = 100;
    double per_second = 10;
    // Age at which the count of what was left out is told.
    absl::Duration tell_after = absl::Seconds(1);
  };

  // Lines of one event that were left out.
  struct Suppressed {
    LogLevel level = LogLevel::kInfo;
    std::string event;
    std::int64_t count = 0;
    // When the first of them came.
    absl::Time since;

    friend bool operator==(const Suppressed&, const Suppressed&) = default;
  };

  FloodLimit() : FloodLimit(Rate()) {}
  explicit FloodLimit(const Rate& rate) : rate_(rate) {}

  FloodLimit(const FloodLimit&) = delete;
  FloodLimit& operator=(const FloodLimit&) = delete;

  // Whether a line of `event`, one of a closed set of names, may be written
  // now; otherwise it has been counted. A clock that is set back costs nothing
  // but tokens.
  bool Admit(LogLevel level, std::string_view event, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // What is to be told now, each once: by event, then by level.
  std::vector<Suppressed> TakeDue(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same however young it is.
  std::vector<Suppressed> TakeAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Bucket {
    double tokens = 0;
    absl::Time refilled;
    std::int64_t suppressed = 0;
    absl::Time since;
  };

  std::vector<Suppressed> Take(absl::Time since_at_latest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Rate rate_;
  Mutex mutex_;
  std::map<std::pair<std::string, LogLevel>, Bucket> buckets_
      ABSL_GUARDED_BY(mutex_);
  // Whether any bucket has something to tell.
  bool untold_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_FLOOD_LIMIT_H_
