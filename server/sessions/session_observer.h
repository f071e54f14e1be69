// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SessionObserver: hears of what happens in sessions, for those who count and
// log.

#ifndef LOSSSCALER_SERVER_SESSIONS_SESSION_OBSERVER_H_
#define LOSSSCALER_SERVER_SESSIONS_SESSION_OBSERVER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::server {

// What made a session change.
enum class Cause {
  // It was in the store when the server started.
  kLoad,
  kCreate,
  kDelete,
  // A solo session's vote.
  kVote,
  kRestore,
  kJoin,
  kLeave,
  // A worker presented a checkpoint.
  kPresent,
  // Something was due in a group: a decision whose votes are in, or that ran
  // out of time; leases that have expired.
  kDue,
};

// A worker that became, or ceased to be, a live member.
struct WorkerChange {
  enum class Kind {
    kJoined,
    // It was pending, and votes from now on.
    kActivated,
    kLeft,
    kExpired,
    // By a successor of its name, or by a new attempt of the whole job.
    kReplaced,
    // It had not voted when the decision fell.
    kEvicted,
  };
  Kind kind = Kind::kJoined;
  std::string worker;
  std::int64_t incarnation = 0;
};

// "joined" and so on.
std::string_view WorkerChangeName(WorkerChange::Kind kind);

// One durable change of a session. Lives only while an observer looks at it.
struct SessionChange {
  Cause cause = Cause::kVote;
  // Null: there was none; there is none any more.
  const SessionState* before = nullptr;
  const SessionState* after = nullptr;
  // Null: none was taken.
  const Decision* decision = nullptr;
  // By incarnation.
  std::vector<WorkerChange> workers;
};

// Who came and went between two states of a group session, either of which may
// be null.
std::vector<WorkerChange> WorkerChangesOf(Cause cause,
                                          const SessionState* before,
                                          const SessionState* after,
                                          const Decision* decision);

// Thread safety: implementations are called from any thread, without a lock
// held, and do not block. Changes of one session come one after the other.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;

  // The store has it; nobody has been answered yet.
  virtual void OnChange(const SessionChange& change) = 0;

  // A vote has come in, and was answered so much later: with a decision
  // (`decided`) or an error.
  virtual void OnVote() = 0;
  virtual void OnVoteAnswered(absl::Duration waited, bool decided) = 0;

  // A chunk of so many bytes was unscaled.
  virtual void OnUnscaled(std::int64_t bytes,
                          const UnscaleVerdict& verdict) = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_SESSION_OBSERVER_H_
