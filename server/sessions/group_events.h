// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// GroupEvents: what events do to a group session.
//
// Puts the coordinator, which knows calls only by number, together with the
// calls themselves, and turns events into reactions: the change to write, then
// Install() and the answers.
//
// Thread safety: none. The session calls it within an event's turn, and so do
// the reactions that it returns; answers are given there too, one after the
// other, and must not block.

#ifndef LOSSSCALER_SERVER_SESSIONS_GROUP_EVENTS_H_
#define LOSSSCALER_SERVER_SESSIONS_GROUP_EVENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/membership.h"
#include "sessions/answers.h"
#include "sessions/decision_log.h"
#include "sessions/turn.h"

namespace lossscaler::server {

// Calls of one worker that may wait at one time for a decision: a client that
// calls again need not have been told that its first call is lost.
inline constexpr int kWaitingPerWorker = 4;

class GroupEvents {
 public:
  // `state` as loaded or created; `log` outlives this.
  GroupEvents(SessionState state, const DecisionLog* log, const Moment& now);

  GroupEvents(const GroupEvents&) = delete;
  GroupEvents& operator=(const GroupEvents&) = delete;

  // The time of everything that follows.
  void SetTime(const Moment& now) { now_ = now; }
  // Up to the time that is set nothing could be done for so long, not even what
  // had come; see Coordinator::Postpone().
  void Postpone(absl::Duration duration) { coordinator_.Postpone(duration); }
  absl::Duration lease_ttl() const {
    return coordinator_.group().config.lease_ttl;
  }
  std::int64_t members() const {
    return static_cast<std::int64_t>(coordinator_.group().members.size());
  }

  // ---- Events, all of the session as `coordinator().state()` has it.

  Reaction Join(const JoinEvent& event, const Done<JoinAnswer>& done);
  Reaction Leave(const WorkerRef& worker,
                 const std::function<void(absl::Status)>& done);
  Reaction KeepAlive(const WorkerRef& worker,
                     std::optional<Checkpoint> checkpoint,
                     const Done<Membership>& done);
  // `event.call` is new. Waits, or answers at once.
  Reaction Vote(const VoteEvent& event, const Done<UpdateAnswer>& done);
  Reaction Follow(CallId call, const WorkerRef& worker,
                  const Done<Membership>& changed);
  // The call is answered CANCELLED, if it still waits or follows.
  Reaction Cancel(CallId call);
  Reaction Restore(const LossScaler& scaler,
                   std::optional<std::int64_t> if_epoch,
                   const std::string& request_id,
                   const Done<RestoreAnswer>& done);

  // ---- Time.

  // The change that time or votes have brought about, as an event that is
  // written before any other is taken; nullopt: none.
  std::optional<Event> TakeDue();
  // Nothing is due (any more), or it could not be written: gives the answers
  // that wait for that, so that they tell what became of their event.
  void GiveAnswers();
  // When TakeDue() may have something although nothing happened.
  absl::Time NextDue() const;

  // ---- Endings.

  // The state was read again after nobody knew whether a write was done: votes
  // and leases start anew, as after a restart, and who waits is told `error`.
  void Reset(SessionState state, const absl::Status& error);
  // Everybody who waits or follows is told `error`, and whoever comes to wait
  // or follow from now on: the session is deleted, or the server ends.
  void Close(const absl::Status& error);

  // Nobody knows whether a write was done, and the store does not say: the
  // calls that wait for a decision are told so, and may be repeated.
  void Dismiss(const absl::Status& error);

  void Complete(SessionSnapshot* snapshot) const;

 private:
  struct Follower {
    WorkerRef worker;
    Done<Membership> changed;
    Membership last;
  };

  struct Waiting {
    std::int64_t incarnation = 0;
    Done<UpdateAnswer> done;
  };

  // `change` is written.
  void Install(const Change& change);
  // `decision` is what those are told who are told one.
  void Answer(const std::vector<VoteAnswer>& answers, const Decision& decision);
  void Wait(const VoteEvent& event, const Done<UpdateAnswer>& done);
  void NotifyFollowers();
  absl::StatusOr<Membership> MembershipOf(const WorkerRef& worker) const;
  absl::StatusOr<JoinAnswer> JoinAnswerOf(const WorkerRef& worker) const;

  const DecisionLog* const log_;
  Moment now_;
  Coordinator coordinator_;
  // The calls that wait for the coordinator's answer, and those of each worker.
  std::map<CallId, Waiting> waiting_;
  std::map<std::int64_t, std::set<CallId>> waiting_by_worker_;
  std::map<CallId, Follower> followers_;
  // For GiveAnswers().
  std::vector<std::function<void()>> answers_;
  // Not OK: see Close().
  absl::Status closed_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_GROUP_EVENTS_H_
