// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Session: one named scaler in the server.
//
// The rules are the pure functions of lossscaler/core/solo.h. A session adds
// what they leave out: it takes one event at a time, writes what an event
// changed to the store, and only then shows it and answers.
//
// Callbacks run on the store's thread or on the calling one, without a lock
// held, exactly once.
//
// Thread safety: any thread, at any time. Held by shared_ptr.

#ifndef LOSSSCALER_SERVER_SESSIONS_SESSION_H_
#define LOSSSCALER_SERVER_SESSIONS_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/byte_budget.h"
#include "sessions/stream_ledger.h"
#include "store/store.h"

namespace lossscaler::server {

// A session as it stood at one moment.
struct SessionSnapshot {
  SessionState state;
  std::optional<Decision> last_decision;
};

struct UpdateAnswer {
  Decision decision;
  Current current;
};

struct RestoreAnswer {
  Decision decision;
  SessionSnapshot snapshot;
};

// The error of every call that names no session, or comes too late or early.
absl::Status SessionNotFound(std::string_view name);

// What a step's losses and gradients are scaled with.
struct StepScale {
  std::int64_t step = 0;
  double scale = 1.0;
  std::int64_t epoch = 0;
  UnscaleArithmetic arithmetic = UnscaleArithmetic::kDivide;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  // What all sessions of a server share; outlives them.
  struct Environment {
    Store* store = nullptr;
    // Pays for the verdicts of finished streams.
    ByteBudget* ledger_budget = nullptr;
    // Wall clock time, for records.
    std::function<absl::Time()> now;
    // What STORE_UNAVAILABLE asks callers to wait.
    absl::Duration retry_delay;
  };

  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  // A session that is not in the store yet. Every event waits for Create(),
  // which is its first, so that others may find the session before.
  Session(std::string name, const Environment* environment);
  // A session as loaded.
  Session(StoredSession stored, const Environment* environment);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& name() const { return name_; }

  // Writes the session's first state. Call once, on a session that was not
  // loaded. An event that is taken after a failed Create() finds no session.
  void Create(const SessionState& initial, Done<SessionSnapshot> done);

  // Ends the session; later events find no session. An empty `request_id`
  // leaves no record.
  void Delete(std::string_view request_id, Done<SessionSnapshot> done);

  // Rule R4: a vote on the open step decides it, one on a kept step gets the
  // stored decision. With no step, one that has the vote's request_id, else
  // the open one. Besides the errors of the rules: those of CheckVote().
  void Update(std::optional<std::int64_t> step, Vote vote,
              Done<UpdateAnswer> done);

  // A request_id that restored before gets that decision again; one that voted
  // is INVALID_FIELD.
  void Restore(const LossScaler& scaler, std::optional<std::int64_t> if_epoch,
               std::string_view request_id, Done<RestoreAnswer> done);

  // Waits for its turn, then answers: events before it are decided.
  void Look(Done<SessionSnapshot> done);

  // Reads the session again if the outcome of a write is unknown, unless an
  // event is under way, which does that itself. STORE_UNAVAILABLE.
  absl::Status Settle() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether it is certain that the store has no such session (any more).
  bool gone() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing, while the session is not (or no longer) in the store.
  std::optional<SessionSnapshot> Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The scale of a step: the open one if unset. SESSION_NOT_FOUND, STEP_AHEAD,
  // STEP_FORGOTTEN, STORE_UNAVAILABLE.
  absl::StatusOr<StepScale> ScaleOf(std::optional<std::int64_t> step) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // An Unscale stream begins and ends; see StreamLedger. A stream of a decided
  // step works, but no vote can count it.
  absl::Status OpenStream(std::int64_t step, std::string_view stream_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishStream(std::int64_t step, std::string_view stream_id,
                    bool overflow, std::vector<TensorCoverage> coverage)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RetractStream(std::int64_t step, std::string_view stream_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What an event makes of a state: a change to write, and what to tell the
  // caller once that is done; or nothing to write.
  struct Reaction {
    std::optional<Write> write;
    std::function<void()> answer;
  };
  // Null state: there is no such session.
  using State = std::shared_ptr<const SessionState>;
  struct Event {
    std::function<Reaction(const State&)> react;
    // Called instead of the answer if the store failed.
    std::function<void(const absl::Status&)> fail;
  };
  // An event under way, whose write the store has.
  struct Written {
    Write write;
    std::function<void()> answer;
    std::function<void(const absl::Status&)> fail;
  };

  void Enqueue(Event event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes events until there is none, or one waits for the store.
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the session again after a write whose outcome nobody knows.
  absl::Status ReloadIfUnsure() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWritten(const Written& written, WriteResult result,
                 const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void Install(const Write& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Whether a write, whose outcome was unknown, turned out to be there.
  bool Stands(const Write& write) const ABSL_LOCKS_EXCLUDED(mutex_);
  void SetIdle() ABSL_LOCKS_EXCLUDED(mutex_);

  template <typename T>
  static Reaction Refuse(const Done<T>& done, const absl::Status& error);
  Reaction ReactToRestore(const State& state, const LossScaler& scaler,
                          std::optional<std::int64_t> if_epoch,
                          const std::string& request_id,
                          const Done<RestoreAnswer>& done);
  Reaction ReactToUpdate(const State& state, std::optional<std::int64_t> step,
                         Vote vote, const Done<UpdateAnswer>& done);
  // The latest decision that a request made; nullopt: none.
  absl::StatusOr<std::optional<Decision>> FindByRequest(
      std::string_view uid, std::string_view request_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // STEP_FORGOTTEN if the journal does not have it.
  absl::StatusOr<Decision> FindByStep(const SessionState& state,
                                      std::int64_t step) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  const std::string name_;
  const Environment* const environment_;

  mutable Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  // An event is being taken, or Create() has yet to come: nobody else changes
  // the state.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  // Create() has not come out yet.
  bool creating_ ABSL_GUARDED_BY(mutex_) = false;
  // The thread inside Store::Commit(), so that an answer which comes at once
  // does not take the next event from within this one.
  std::thread::id committing_ ABSL_GUARDED_BY(mutex_);
  // The outcome of a write is unknown: read this uid before taking an event.
  // Empty: the state is sure.
  std::string unsure_uid_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_);
  // The latest decisions, oldest first, at most kDecisionsInMemory.
  std::deque<Decision> recent_ ABSL_GUARDED_BY(mutex_);
  StreamLedger ledger_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_SESSION_H_
