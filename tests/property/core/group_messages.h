// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What simulated workers and a simulated server say to each other.

#ifndef LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_MESSAGES_H_
#define LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/coordinator.h"
#include "rapidcheck.h"

namespace lossscaler::simulation {

// The one source of chance of a run: its seed repeats it.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}

  // In [0, count).
  int Below(int count) {
    return static_cast<int>(engine_() % static_cast<std::uint64_t>(count));
  }
  bool Percent(int percent) { return Below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

// Ends the run, and tells RapidCheck why.
inline void Require(bool holds, const std::string& rule) {
  if (!holds) RC_FAIL(rule);
}

inline std::string KeyOf(const Base& base) {
  return base.step == 0 ? "initial"
                        : absl::StrCat(base.session_uid, "/", base.step);
}

struct Request {
  enum class Kind { kJoin, kVote, kLeave, kHeartbeat };

  Kind kind = Kind::kHeartbeat;
  // Which worker, and which life of it: an answer to an earlier life is lost.
  int slot = 0;
  int life = 0;
  WorkerRef worker;
  JoinEvent join;
  std::int64_t step = 0;
  Vote vote;
  // Tells the votes of one worker apart.
  std::int64_t vote_number = 0;
};

struct Reply {
  Request request;
  absl::Status status;
  std::optional<Decision> decision;
  std::int64_t incarnation = 0;
  std::string token;
  bool active = false;
  Current current;
  Base base;
};

}  // namespace lossscaler::simulation

#endif  // LOSSSCALER_TESTS_PROPERTY_CORE_GROUP_MESSAGES_H_
