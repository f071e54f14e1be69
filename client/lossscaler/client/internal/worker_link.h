// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerLink: a worker's lease, stream and votes. Whatever must go on while the
// trainer computes, or waits, happens here.
//
// It has no thread: whoever owns it calls Tick() when it is due (a thread of
// worker_state.h does). Events of streams come in from any thread; calls that
// wait do so until one of these has brought news.
//
// The lease (rule R2): an acknowledged message renews it from when it was
// *sent*. When 80 % of the TTL have passed since, an APPLY is withheld: the
// server may have taken the worker for dead.
//
// A vote is sent again, unchanged, over every stream that replaces a lost one,
// and after every error that says "later"; only a decision, or an error that
// waiting does not cure, answers it.
//
// Thread safety: any thread, at any time, but Tick() by one thread. No lock is
// held during a call of the connection.

#ifndef LOSSSCALER_CLIENT_INTERNAL_WORKER_LINK_H_
#define LOSSSCALER_CLIENT_INTERNAL_WORKER_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"
#include "lossscaler/client/worker_stream.h"
#include "lossscaler/core/decision.h"
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

// A vote that was cast, and what came of it. WorkerLink's, but for what is
// const.
struct CastVote : public std::enable_shared_from_this<CastVote> {
  CastVote(std::int64_t step_in, Vote vote_in)
      : step(step_in), vote(std::move(vote_in)) {}

  const std::int64_t step;
  const Vote vote;

  // Number and time of the last sending; whether the present stream has it.
  std::int64_t sequence = 0;
  absl::Time sent_at = absl::InfinitePast();
  bool sent = false;
  absl::Time send_at = absl::InfinitePast();
  // Since when the server fails to take it, and why.
  std::optional<absl::Time> failing_since;
  absl::Status failure;
  std::optional<absl::StatusOr<Decision>> answer;
  // Await() has returned the answer.
  bool told = false;
  // The right to apply has been handed out.
  bool permitted = false;
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
  // waited for on a monotonic one). False: the link is closed.
  bool WaitForTick(absl::Time next);

  // Sends a vote, now or when there is a stream.
  std::shared_ptr<CastVote> Cast(std::int64_t step, const Vote& vote);

  // What came of a vote. Blocks until there is an answer which the worker may
  // act on. Otherwise: FENCED and what else ends a membership; LEASE_STALE and
  // UNAVAILABLE_BUDGET_SPENT, after which it may be asked again; CANCELLED
  // after Close().
  absl::StatusOr<Decision> Await(CastVote* cast);
  // Whether Await() would return at once.
  bool Ready(const CastVote& cast) const;
  // True once per vote.
  bool TakePermit(CastVote* cast);

  // Blocks until the worker may vote: ACTIVE, in an open session. Errors as of
  // Await(), and CHECKPOINT_MISMATCH.
  absl::StatusOr<Current> AwaitOpen();

  // The membership has ended, or the link is closed; OK otherwise.
  absl::Status Health() const;
  Membership membership() const;
  WorkerRef worker() const;
  // The lease is to be taken for lost.
  bool IsStale() const;

  // News from another call.
  void Learn(const Current& heard);
  // Presents another checkpoint; what the server says of it.
  absl::Status Present(const Checkpoint& checkpoint);

  // Ends the stream and all waiting. For good.
  void Close();

 private:
  class Events;

  struct Sent {
    absl::Time at;
    bool presents = false;
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

  void Take(const Membership& membership) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeCurrent(const Current& heard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Renewed(absl::Time sent_at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lose(const absl::Status& why, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(CastVote* cast, absl::StatusOr<Decision> answer, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets an answer that may be another by now.
  void AskAgain(CastVote* cast) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends what is due on the present stream; when something is due next.
  absl::Time SendDue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendHeartbeat(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool StaleAt(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration HeartbeatInterval() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The error of a wait that began at `start`, if it has lasted long enough.
  // `cast` may be null.
  absl::Status BudgetSpent(const CastVote* cast, absl::Time start,
                           absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LeaseStale(std::int64_t step) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFinal(const CastVote& cast) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for news, or a second; reports if the server is away.
  void Pause(std::string_view method, const CastVote* cast, absl::Time start,
             absl::Time* next_report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poke() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Connection> connection_;
  const SessionRef session_;
  const LinkOptions options_;
  Clock* const clock_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool poked_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Why the worker is no member any more.
  absl::Status down_ ABSL_GUARDED_BY(mutex_);
  WorkerRef worker_ ABSL_GUARDED_BY(mutex_);
  Membership membership_ ABSL_GUARDED_BY(mutex_);

  absl::Duration lease_ttl_ ABSL_GUARDED_BY(mutex_);
  // When the last acknowledged renewal was sent.
  absl::Time renewed_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();

  // Null: none, or it is being opened (opening_).
  std::shared_ptr<WorkerStream> stream_ ABSL_GUARDED_BY(mutex_);
  std::int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool opening_ ABSL_GUARDED_BY(mutex_) = false;
  // When the present stream was asked for; unset once it has been opened.
  std::optional<absl::Time> asked_at_ ABSL_GUARDED_BY(mutex_);
  std::int64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  // Unanswered, by sequence.
  std::map<std::int64_t, Sent> heartbeats_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_heartbeat_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool renew_now_ ABSL_GUARDED_BY(mutex_) = false;

  absl::Time next_connect_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration backoff_ ABSL_GUARDED_BY(mutex_);
  // Since when there is no stream that works, and why.
  std::optional<absl::Time> away_since_ ABSL_GUARDED_BY(mutex_);
  absl::Status away_ ABSL_GUARDED_BY(mutex_);

  // What is to be presented, until the server has said something of it.
  std::optional<Checkpoint> presenting_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> presented_ ABSL_GUARDED_BY(mutex_);

  // Without an answer, oldest first.
  std::vector<std::shared_ptr<CastVote>> open_votes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_WORKER_LINK_H_
