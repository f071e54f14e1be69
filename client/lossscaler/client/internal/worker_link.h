// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerLink: a worker's lease, stream and votes. Whatever must go on while the
// trainer computes, or waits, happens here.
//
// It has no thread: whoever owns it calls Tick() when it is due (a thread of
// worker_state.h does). Events of streams come in from any thread; calls that
// wait do so until one of these has brought news. Events of a stream that needs
// polling come in on the threads that wait: see "Polling" below.
//
// worker_link.cc keeps the stream; worker_link_waits.cc has the calls that
// wait.
//
// Thread safety: any thread, at any time, but Tick() by one thread. No lock is
// held during a call of the connection or of on_wait; calls of a stream, which
// do not wait and call no event, are made under it.

#ifndef LOSSSCALER_CLIENT_INTERNAL_WORKER_LINK_H_
#define LOSSSCALER_CLIENT_INTERNAL_WORKER_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/internal/lease.h"
#include "lossscaler/client/internal/open_votes.h"
#include "lossscaler/client/internal/reconnect.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/worker_stream.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {

struct LinkOptions {
  absl::Duration unavailable_budget = absl::Minutes(10);
  absl::Duration initial_backoff = absl::Milliseconds(50);
  absl::Duration max_backoff = absl::Seconds(2);
  std::function<void(const WaitReport&)> on_wait;
  absl::Duration wait_report_interval = absl::Seconds(5);
  std::shared_ptr<Clock> clock;
  // Uniform in [0, 1).
  std::function<double()> random;
};

class WorkerLink : public std::enable_shared_from_this<WorkerLink> {
 public:
  WorkerLink(std::shared_ptr<Connection> connection, SessionRef session,
             LinkOptions options);

  // The worker has joined, for the first time or again; `sent_at` is when the
  // call was made. Votes without an answer are cast again.
  void Joined(const WorkerRef& worker, const JoinAnswer& answer,
              absl::Time sent_at);

  // Does what is due: heartbeats, votes, a new stream in place of a lost or
  // silent one. When it is to be called next, unless it is needed earlier.
  absl::Time Tick();
  // Blocks until Tick() is needed or `next` is there (measured by the clock,
  // waited for on a monotonic one), and polls the stream while no other call
  // does. False: the link is closed.
  bool WaitForTick(absl::Time next);

  // Sends a vote, now or when there is a stream. `iteration` is the trainer's
  // counter of the step, whatever the vote names.
  std::shared_ptr<PendingVote> Cast(
      std::int64_t step, const Vote& vote,
      std::optional<std::int64_t> iteration = std::nullopt);

  // What came of a vote. Blocks until there is an answer which the worker may
  // act on. Otherwise: FENCED and what else ends a membership; LEASE_STALE and
  // UNAVAILABLE_BUDGET_SPENT, after which it may be asked again; CANCELLED
  // after Close(). A CHECKPOINT_MISMATCH that was returned is asked for again.
  absl::StatusOr<Decision> Await(const std::shared_ptr<PendingVote>& vote);
  // Whether Await() has returned what the server said of the vote.
  bool Heard(const PendingVote& vote) const;
  // Whether Await() would return at once.
  bool Ready(const PendingVote& vote) const;
  // Whether the server has refused the vote, so that the worker has none on the
  // step, which may still be open.
  bool LeftNoVote(const PendingVote& vote) const;

  // Blocks until the worker may vote: ACTIVE, in an open session. Errors as of
  // Await(), and CHECKPOINT_MISMATCH.
  absl::StatusOr<Current> AwaitOpen();
  // Blocks until something has happened, or for a second.
  void AwaitNews();

  // Presents another checkpoint; what the server says of it. ABORTED if another
  // call does so meanwhile.
  absl::Status Present(const Checkpoint& checkpoint);

  Membership membership() const;
  WorkerRef worker() const;
  absl::Duration lease_ttl() const;
  // The lease is to be taken for lost.
  bool IsStale() const;

  // News from another call.
  void Learn(const Current& heard);

  // Ends all waiting, for good. What was sent is still on its way.
  void EndWaits();
  // The same, and ends the stream.
  void Close();

 private:
  class Events;

  // A checkpoint that a caller wants to be presented, for as long as the caller
  // waits for what comes of it.
  struct Presentation {
    const Checkpoint checkpoint;
    // Of the heartbeat that carries it on the present stream; 0: none does.
    std::int64_t sequence = 0;
    // What the server said of it.
    std::optional<absl::Status> answer;
  };
  // One call that waits.
  struct Wait {
    std::string_view method;
    // Null: it waits for something else.
    const PendingVote* vote = nullptr;
    absl::Time start;
    absl::Time next_report;
  };
  // Since when the server fails to do its part, and how.
  struct Outage {
    absl::Time since;
    absl::Status error;
  };

  // Of the present stream only: `generation` says which one speaks.
  void OnMembership(std::int64_t generation, const Membership& membership,
                    bool opened);
  void OnHeartbeat(std::int64_t generation, std::int64_t sequence,
                   const Membership& membership, const absl::Status& refused);
  void OnVote(std::int64_t generation, std::int64_t sequence,
              absl::StatusOr<Decision> answer,
              const std::optional<Current>& current);
  void OnClosed(std::int64_t generation, const absl::Status& status);

  // The server has answered the message of this number, which was sent then.
  void Acknowledged(std::int64_t sequence, absl::Time sent_at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const Membership& membership) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeCurrent(const Current& heard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayVote() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The present stream is of no use any more; the stream, to be cancelled
  // without the lock.
  std::shared_ptr<WorkerStream> DropStream()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lose(const absl::Status& why, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When the oldest question that the server owes an answer to was asked.
  absl::Time OldestQuestion() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Sends what is due on the present stream; when something is due next.
  absl::Time SendDue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `presentation` may be null.
  void SendHeartbeat(absl::Time now, Presentation* presentation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Polling. A thread that waits for the server reads by itself, for to be
  // woken by another one costs more than the answer. One thread polls the
  // present stream at a time (polling_), without the lock; the others wait on
  // their condition variables. Nothing is slept through, because:
  // - Who polls said so under the lock, where it had seen that it must wait.
  //   Who changes that, under the lock as well, wakes both kinds (WakeWaits):
  //   an interrupt that finds no Poll() yet, or none any more, ends the next.
  // - An event is called by the polling thread, which then looks again by
  //   itself; it only has to wake those that wait otherwise.
  // - Who stops polling wakes all that wait: whoever goes on waiting polls. So
  //   nobody is asleep for want of a stream or of a turn while nobody polls;
  //   a new stream wakes them likewise.
  // - A stream that is dropped is interrupted before it is let go.
  // The keeper polls for those who are not there, so that a stream is heard
  // while the trainer computes. It takes over only when no call has waited for
  // a while (waited_): in a tight loop the trainer's thread finds its turn
  // free.
  bool NeedsPolling() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One turn.
  void Poll(absl::Duration at_most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a waiting call does until something has happened, or for so long.
  void AwaitChange(absl::Duration at_most)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What the keeper does meanwhile.
  void KeepListening(absl::Duration at_most)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void InterruptPoll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Every waiting call, and the keeper if it polls, is to look again.
  void WakeWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tick() is needed. Of an event: a keeper that polls is about to look.
  void AskForTick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Both of these.
  void Poke() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Wait StartWait(std::string_view method, const PendingVote* vote) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The end of every wait: no member any more, or closed.
  absl::Status Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // UNAVAILABLE_BUDGET_SPENT if an outage has lasted that long in this wait.
  absl::Status BudgetSpent(const Wait& wait, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for news, or a second; or reports instead.
  void Pause(Wait* wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Outage> OutageOf(const Wait& wait) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What on_wait is to be told; unset: only the other workers are waited for.
  std::optional<WaitReport> ReportOf(const Wait& wait, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why the worker may not vote yet.
  absl::Status WhyNotOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Connection> connection_;
  const SessionRef session_;
  const LinkOptions options_;
  Clock* const clock_;

  mutable Mutex mutex_;
  // Calls that wait, and WaitForTick(), apart: a vote and its answer concern
  // only the former, and a thread that is woken for nothing costs more than
  // both.
  CondVar changed_;
  CondVar tick_needed_;
  bool poked_ ABSL_GUARDED_BY(mutex_) = false;
  // A thread polls a stream: the present one, or one that it is about to leave.
  bool polling_ ABSL_GUARDED_BY(mutex_) = false;
  // A call has begun to wait since the keeper last looked.
  bool waited_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Why the worker is no member any more.
  absl::Status down_ ABSL_GUARDED_BY(mutex_);
  WorkerRef worker_ ABSL_GUARDED_BY(mutex_);
  Membership membership_ ABSL_GUARDED_BY(mutex_);
  Lease lease_ ABSL_GUARDED_BY(mutex_);

  // Null: none, or it is being opened (opening_).
  std::shared_ptr<WorkerStream> stream_ ABSL_GUARDED_BY(mutex_);
  std::int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool opening_ ABSL_GUARDED_BY(mutex_) = false;
  Reconnect reconnect_ ABSL_GUARDED_BY(mutex_);
  // When the present stream was asked for; unset once it has been opened.
  std::optional<absl::Time> asked_at_ ABSL_GUARDED_BY(mutex_);

  std::int64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  // When the unanswered ones were sent, by sequence.
  std::map<std::int64_t, absl::Time> heartbeats_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_heartbeat_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // A heartbeat is wanted as soon as there is a stream.
  bool renew_now_ ABSL_GUARDED_BY(mutex_) = false;
  // Ends with its caller's wait.
  std::weak_ptr<Presentation> presentation_ ABSL_GUARDED_BY(mutex_);

  OpenVotes votes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_WORKER_LINK_H_
