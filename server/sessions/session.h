// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Session: one named scaler in the server.
//
// The rules are the pure functions of lossscaler/core. A session adds what they
// leave out: it takes one event at a time, writes what an event changed to the
// store, and only then shows it and answers. In a group session changes that
// time has brought about (expired leases, timeouts) come before the next event,
// and are looked for when the alarm rings.
//
// Callbacks run on the store's thread, the alarm's or the calling one, without
// a lock held, exactly once unless said otherwise; they must not block. Those
// of one session come one after the other. One that waits holds no thread.
//
// Thread safety: any thread, at any time. Held by shared_ptr.

#ifndef LOSSSCALER_SERVER_SESSIONS_SESSION_H_
#define LOSSSCALER_SERVER_SESSIONS_SESSION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/membership.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/alarm.h"
#include "sessions/answers.h"
#include "sessions/byte_budget.h"
#include "sessions/decision_log.h"
#include "sessions/group_events.h"
#include "sessions/session_observer.h"
#include "sessions/stream_ledger.h"
#include "sessions/turn.h"
#include "store/store.h"

namespace lossscaler::server {

// The error of every call that names no session, or comes too late or early.
absl::Status SessionNotFound(std::string_view name);

// What a step's losses and gradients are scaled with.
struct StepScale {
  std::int64_t step = 0;
  double scale = 1.0;
  std::int64_t epoch = 0;
  UnscaleArithmetic arithmetic = UnscaleArithmetic::kDivide;
};

class Session;

// A call that may wait, so that who made it can give up. A value; an empty one,
// or one whose call has been answered, cancels nothing.
class PendingCall {
 public:
  PendingCall() = default;
  PendingCall(std::weak_ptr<Session> session, CallId call)
      : session_(std::move(session)), call_(call) {}

  // The call is answered CANCELLED unless its answer is on the way already. A
  // vote stays.
  void Cancel();

 private:
  std::weak_ptr<Session> session_;
  CallId call_ = 0;
};

// The decisions of a session one after the other, each exactly once, from some
// step on; see Session::Watch(). It holds no decisions of its own: a reader
// that is slow reads from the journal what the session's memory has dropped.
//
// Thread safety: one Next() at a time; Cancel() at any time.
class DecisionWatch {
 public:
  // REQUIRES: made by Session::Watch().
  DecisionWatch(std::shared_ptr<Session> session, CallId call,
                std::int64_t first);
  ~DecisionWatch();

  DecisionWatch(const DecisionWatch&) = delete;
  DecisionWatch& operator=(const DecisionWatch&) = delete;

  // Calls `done` with the next decision, now or once it has been taken. Any
  // error ends the watch: STEP_FORGOTTEN if the journal has dropped it,
  // SESSION_NOT_FOUND when the session is deleted, CANCELLED, what Drain()
  // said. STORE_UNAVAILABLE: call again.
  void Next(Done<Decision> done);

  // A Next() that waits, and every later one that would, is answered CANCELLED.
  void Cancel();

 private:
  const std::shared_ptr<Session> session_;
  const CallId call_;
  std::atomic<bool> cancelled_ = false;
  // Shared with an answer that may come after the watch has been dropped.
  const std::shared_ptr<std::int64_t> next_;
};

class Session : public Alarm::Sleeper,
                public std::enable_shared_from_this<Session> {
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
    // For group sessions: wakes them, the clock of leases and timers, which is
    // the alarm's, and a source of unguessable names.
    Alarm* alarm = nullptr;
    std::function<absl::Time()> monotonic;
    std::function<std::string()> new_token;
    // They outlive every event.
    std::vector<SessionObserver*> observers;
  };

  template <typename T>
  using Done = server::Done<T>;

  // A session that is not in the store yet. Every event waits for Create(),
  // which is its first, so that others may find the session before.
  Session(std::string name, const Environment* environment);
  // A session as loaded. A group's leases run for one TTL from now.
  Session(StoredSession stored, const Environment* environment);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& name() const { return name_; }

  // ---- Any session --------------------------------------------------------

  // Writes the session's first state. Call once, on a session that was not
  // loaded. An event that is taken after a failed Create() finds no session.
  void Create(const SessionState& initial, Done<SessionSnapshot> done);

  // Ends the session; later events find no session, and waiting calls are told
  // so. An empty `request_id` leaves no record.
  void Delete(std::string_view request_id, Done<SessionSnapshot> done);

  // Solo. Rule R4: a vote on the open step decides it, one on a kept step gets
  // the stored decision. With no step, one that has the vote's request_id, else
  // the open one. Besides the errors of the rules: those of CheckVote(), and
  // WRONG_KIND if the vote names a worker or parts.
  //
  // Group: CastVote() for vote.worker and vote.incarnation, WRONG_KIND if it
  // names none. STEP_REQUIRED.
  PendingCall Update(std::optional<std::int64_t> step, Vote vote,
                     Done<UpdateAnswer> done);

  // A request_id that restored before gets that decision again; one that voted
  // is INVALID_FIELD.
  void Restore(const LossScaler& scaler, std::optional<std::int64_t> if_epoch,
               std::string_view request_id, Done<RestoreAnswer> done);

  // Waits for its turn, then answers: events before it are decided.
  void Look(Done<SessionSnapshot> done);

  // Reads the session again if the outcome of a write is unknown, unless an
  // event is under way, which does that itself. STORE_UNAVAILABLE.
  absl::Status Reread() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether it is certain that the store has no such session (any more).
  bool gone() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing, while the session is not (or no longer) in the store.
  std::optional<SessionSnapshot> Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<std::string> uid() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The decisions from `from_step` on; 0: from the next that falls on; 1: from
  // the first that is kept on. SESSION_NOT_FOUND; STEP_AHEAD; INVALID_FIELD if
  // it is negative; STORE_UNAVAILABLE.
  absl::StatusOr<std::unique_ptr<DecisionWatch>> Watch(std::int64_t from_step)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Newest first. SESSION_NOT_FOUND, STORE_UNAVAILABLE.
  absl::StatusOr<std::vector<Decision>> ListDecisions(
      const DecisionQuery& query) const ABSL_LOCKS_EXCLUDED(mutex_);

  // The server ends: every call that waits or follows is told `error`, and so
  // is every one that comes to wait from now on. Votes that are in can be
  // repeated after the restart.
  void Drain(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- Group sessions; WRONG_KIND otherwise -------------------------------
  //
  // Errors as the coordinator lists them, SESSION_NOT_FOUND and
  // STORE_UNAVAILABLE: then nothing has happened, and the call can be repeated.

  // R1. `event.new_token` is ignored. The answer tells how the session stands
  // once the join has had its effect: the last that was waited for finds the
  // session open.
  void Join(JoinEvent event, Done<JoinAnswer> done);
  void Leave(WorkerRef worker, std::function<void(absl::Status)> done);
  // Renews the lease; with a checkpoint, presents it while the session is
  // closed (and says nothing of it otherwise).
  void KeepAlive(WorkerRef worker, std::optional<Checkpoint> checkpoint,
                 Done<Membership> done);
  // Answers once the step is decided. Cancelled, the vote stays.
  PendingCall CastVote(WorkerRef worker, std::optional<std::int64_t> step,
                       Vote vote, Done<UpdateAnswer> done);
  // Calls `changed` with the worker's membership now and whenever its state or
  // the phase has changed, in order; last of all with an error: FENCED when the
  // incarnation is gone, SESSION_NOT_FOUND, CANCELLED, what Drain() said.
  // Renews no lease.
  PendingCall Follow(WorkerRef worker, Done<Membership> changed);

  // ---- Scales and streams -------------------------------------------------

  // The scale of a step: the open one if unset, which is STEP_REQUIRED in a
  // group. SESSION_NOT_FOUND, STEP_AHEAD, STEP_FORGOTTEN, STORE_UNAVAILABLE.
  absl::StatusOr<StepScale> ScaleOf(std::optional<std::int64_t> step) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // An Unscale stream begins and ends; see StreamLedger. A stream of a decided
  // step works, but no vote can count it. Each worker has a ledger of its own.
  //
  // `worker`: empty in a solo session (WRONG_KIND); in a group a live member,
  // whose lease is renewed (FENCED).
  absl::Status OpenStream(const WorkerRef& worker, std::int64_t step,
                          std::string_view stream_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishStream(const WorkerRef& worker, std::int64_t step,
                    std::string_view stream_id, bool overflow,
                    std::vector<TensorCoverage> coverage)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RetractStream(const WorkerRef& worker, std::int64_t step,
                     std::string_view stream_id) ABSL_LOCKS_EXCLUDED(mutex_);
  // A chunk of so many bytes was unscaled, for observers.
  void NoteUnscaled(std::int64_t bytes, const UnscaleVerdict& verdict) const;

  // Not for callers: time has passed.
  void OnAlarm() override;

 private:
  friend class DecisionWatch;
  friend class PendingCall;

  // An event under way, whose write the store has.
  struct Written {
    Write write;
    // What it changes.
    State before;
    Cause cause = Cause::kVote;
    std::function<void()> answer;
    std::function<void(const absl::Status&)> fail;
  };
  // A Next() that waits for its decision.
  struct Watcher {
    std::int64_t step = 0;
    Done<Decision> done;
  };

  void Enqueue(Event event) ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Callback>
  void EnqueueGroup(const Callback& done,
                    std::function<Reaction(GroupEvents&)> react,
                    bool needs_no_store = false) ABSL_LOCKS_EXCLUDED(mutex_);
  void Cancel(CallId call) ABSL_LOCKS_EXCLUDED(mutex_);
  CallId NewCall() ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes turns until there is nothing to do, or one waits for the store.
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins and, unless it waits for the store, ends one turn; false if there is
  // nothing to do, or another turn is under way.
  bool TakeTurn() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells the group what time it is, and that time passed in which the process
  // stood still.
  void SetTime();
  // The change that is due, or the next event; nullopt: neither.
  std::optional<Event> NextEvent() ABSL_LOCKS_EXCLUDED(mutex_);
  void Commit(Reaction reaction, std::function<void(const absl::Status&)> fail)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWritten(const Written& written, WriteResult result,
                 const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the turn.
  void SetIdle() ABSL_LOCKS_EXCLUDED(mutex_);
  // Has the alarm ring when something is due or a write is worth trying again.
  void SetAlarm() ABSL_LOCKS_EXCLUDED(mutex_);

  // Reads the session again after a write whose outcome nobody knows; then
  // the group starts anew, unless its waiting calls are to learn of the write
  // from the caller.
  absl::Status ReloadIfUnsure(bool keep_group = false)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Install(const Write& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a write, whose outcome was unknown, turned out to be there.
  bool Stands(const Write& write) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins the group when the session has become one, and closes it when the
  // session is gone.
  void FollowState() ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the observers of a write that is done.
  void Observe(const Written& written) const;
  // `done`, with the observers hearing of the vote and its answer.
  Done<UpdateAnswer> Timed(Done<UpdateAnswer> done) const;

  State state() const ABSL_LOCKS_EXCLUDED(mutex_);
  SessionSnapshot FullSnapshot() const ABSL_LOCKS_EXCLUDED(mutex_);
  // What a vote on the open step comes to by its streams.
  absl::StatusOr<Verdict> Resolve(const Vote& vote) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  void AwaitDecision(CallId call, std::int64_t step, Done<Decision> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void CancelWatch(CallId call) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers the watchers whose decision is there, or will never be.
  void WakeWatchers() ABSL_LOCKS_EXCLUDED(mutex_);
  // OK if decisions may still come.
  absl::Status WatchEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const Environment* const environment_;
  DecisionLog log_;

  // ---- Only within a turn: whoever has set busy_ owns it.
  //
  // Of a group session, once there is one.
  std::unique_ptr<GroupEvents> group_;
  // The change that is due could not be written; it comes again before the
  // next event.
  absl::Status due_error_;
  // What the alarm is set to.
  absl::Time alarm_ = absl::InfiniteFuture();
  // When the process was last seen at work here, and when it had last stood
  // still.
  absl::Time last_turn_ = absl::InfinitePast();
  absl::Time last_standstill_ = absl::InfinitePast();
  absl::Time write_begin_;
  // A write whose outcome is still unknown: the observers have not heard of it.
  std::optional<Written> unobserved_;

  mutable Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  // A turn is under way, or Create() has yet to come: nobody else changes the
  // state.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  // An event was taken since something was last looked for that is due.
  bool due_unchecked_ ABSL_GUARDED_BY(mutex_) = false;
  // Create() has not come out yet.
  bool creating_ ABSL_GUARDED_BY(mutex_) = false;
  // The thread inside Store::Commit(), so that an answer which comes at once
  // does not take the next event from within this one.
  std::thread::id committing_ ABSL_GUARDED_BY(mutex_);
  // The outcome of a write is unknown: read this uid before taking an event.
  // Empty: the state is sure.
  std::string unsure_uid_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_);
  // Of the open step, by incarnation; that of a solo session is 0.
  std::map<std::int64_t, StreamLedger> ledgers_ ABSL_GUARDED_BY(mutex_);
  CallId last_call_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<CallId, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  // Not OK: the server ends.
  absl::Status drained_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_SESSION_H_
