// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The sessions of a load: how they are made, used by many callers, and compared
// with what the callers were told.

#ifndef LOSSSCALER_TESTS_LOAD_SESSIONS_H_
#define LOSSSCALER_TESTS_LOAD_SESSIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "load/caller.h"
#include "load/course.h"

namespace lossscaler::load {

struct LoadSession {
  std::string name;
  // Workers; 0: a solo session.
  int workers = 0;
  // Not changed by decisions, and no power of two.
  bool fixed_scale = false;

  // Set when it is made.
  std::string uid;
  // Where the session stands, as its updater was told last. Only the updater
  // looks at them.
  std::int64_t step = 1;
  std::int64_t base = 0;
  double scale = 0;
  // Decisions that somebody was told of; for a group, each of its workers.
  std::int64_t acknowledged = 0;
};

// The scale of a session with a fixed one.
inline constexpr double kFixedScale = 3;

// Takes sessions one after the other; several callers share one.
struct Cursor {
  std::span<LoadSession> sessions;
  std::atomic<std::size_t> next = 0;

  // Null: there are no more.
  LoadSession* Take();
};

// Creates sessions until there are no more.
std::unique_ptr<Caller> MakeCreator(Course* course, Stub* stub, Cursor* cursor);

// Reads sessions until there are no more, and compares their step counts with
// the acknowledged decisions.
std::unique_ptr<Caller> MakeAuditor(Course* course, Stub* stub, Cursor* cursor);

// Until the course stops: updates `sessions`, which are its own, in turn. Every
// 16th vote is an overflow.
std::unique_ptr<Caller> MakeUpdater(Course* course, Stub* stub,
                                    std::span<LoadSession> sessions);

// Until the course stops: scale a loss, or read a session, of `sessions` in
// turn.
std::unique_ptr<Caller> MakeLossScaler(Course* course, Stub* stub,
                                       std::span<const LoadSession> sessions);
std::unique_ptr<Caller> MakeReader(Course* course, Stub* stub,
                                   std::span<const LoadSession> sessions);

}  // namespace lossscaler::load

#endif  // LOSSSCALER_TESTS_LOAD_SESSIONS_H_
