// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Coordinator: the rules of a group session (R1 to R13 of the design), as a
// value that events and times are put into.
//
// It holds what must be durable (SessionState) and what need not be: lease
// times, the votes on the open step, and the calls that wait for a decision.
// What an event changes durably is *proposed*: the owner writes the Change to
// its store and then gives it back to Install(), which says what every waiting
// call is told. A change that could not be written is dropped, and nothing has
// happened but for votes and renewed leases, which are not durable anyway.
//
//   while (auto change = coordinator.Due(now)) { write; Install(); }
//   event; write; Install()
//   while (auto change = coordinator.Due(now)) { write; Install(); }
//
// Expiries and timers that are due come before an event: an event at `now`
// REQUIRES that Due(now) has nothing, unless its write fails. Between a
// proposal and its Install() there is no other event: it would be lost, or undo
// it.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CORE_COORDINATOR_H_
#define LOSSSCALER_CORE_COORDINATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/ballot.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/leases.h"
#include "lossscaler/core/membership.h"

namespace lossscaler {

// One moment on two clocks.
struct Moment {
  // Never goes back; leases and timers.
  absl::Time monotonic;
  // For records.
  absl::Time wall;
};

// A call that waits, named by the owner. Never used twice in a session.
using CallId = std::int64_t;

// What a waiting call is told.
struct VoteAnswer {
  CallId call = 0;
  // OK: the decision of the change that was installed.
  absl::Status status;
};

// Who is asking.
struct WorkerRef {
  std::string worker;
  std::int64_t incarnation = 0;
};

struct JoinEvent {
  std::string worker;
  std::string request_id;
  // Of the incarnation whose place is taken; empty: none.
  std::string resume_token;
  // The token the member is given if it joins. Fresh and unguessable.
  std::string new_token;
  std::int64_t attempt = 0;
  std::optional<Checkpoint> checkpoint;
};

// A join that is, or will be once `change` is written.
struct Joined {
  std::int64_t incarnation = 0;
  // Unset: the request_id has joined before.
  std::optional<Change> change;
};

struct VoteEvent {
  CallId call = 0;
  WorkerRef worker;
  std::optional<std::int64_t> step;
  // As sent.
  Vote vote;
  // What the verdict comes to: `vote.verdict`, or what the streams of an unset
  // vote found. Looked at last.
  absl::StatusOr<Verdict> resolved;
};

// What is to be done about a vote.
enum class VoteTaken {
  // The call waits; Install() will answer it.
  kWaits,
  // The step is decided: answer with its decision, if MayBeTold().
  kDecided,
};

// A member, as it looks from outside.
struct MemberView {
  Member member;
  // Left of its lease; zero if it has none.
  absl::Duration lease_left;
  // Its vote on the open step.
  std::optional<Vote> vote;
  // The last step on which it found an overflow when the step had been decided
  // without it. For diagnosis; forgotten in a restart.
  std::optional<std::int64_t> late_overflow;
};

class Coordinator {
 public:
  // As loaded, or created. Every lease runs for one TTL from `now` (R11).
  // REQUIRES: state.group.
  Coordinator(SessionState state, absl::Time now);

  const SessionState& state() const { return state_; }
  const GroupState& group() const { return *state_.group; }

  // The change that time or votes have brought about; nullopt: none.
  std::optional<Change> Due(const Moment& now) const;
  // When Due() may have something although nothing happened.
  absl::Time NextDue() const;
  // Waiting calls that have waited for a paused session long enough; all of
  // them errors.
  std::vector<VoteAnswer> DueAnswers(absl::Time now);

  // For that long the owner could take no event, not even those that came: it
  // does not count, for leases and for waiting.
  void Postpone(absl::Duration duration);

  // `change` is written. The answers may leave.
  std::vector<VoteAnswer> Install(const Change& change, absl::Time now);

  // R1. STALE_ATTEMPT, FENCED, INVALID_FIELD, REQUEST_ID_REQUIRED, WORKER_HELD,
  // TOO_MANY_WORKERS; of a checkpoint: CONFIG_MISMATCH, and STEP_AHEAD if it
  // contains a step of this session that is not decided.
  absl::StatusOr<Joined> Join(const JoinEvent& event, const Moment& now);

  // A departure. FENCED.
  absl::StatusOr<Change> Leave(const WorkerRef& worker, const Moment& now);

  // R2: renews a lease. FENCED.
  absl::Status KeepAlive(const WorkerRef& worker, absl::Time now);

  // Presents another checkpoint while the session is closed; nullopt: nothing
  // changed. FENCED, CONFIG_MISMATCH, STEP_AHEAD, INVALID_FIELD.
  absl::StatusOr<std::optional<Change>> Present(const WorkerRef& worker,
                                                Checkpoint checkpoint,
                                                const Moment& now);

  // R4, R5, R10. FENCED, NOT_ACTIVE, STEP_AHEAD, STEP_FORGOTTEN, the errors of
  // CheckGroupVote() and CheckVoteSize(), VOTE_CONFLICT, SCALE_MISMATCH,
  // RESYNC, CHECKPOINT_MISMATCH, SESSION_PAUSED while a restore is required,
  // and whatever `resolved` says. An error records nothing but the sign of
  // life.
  absl::StatusOr<VoteTaken> Take(const VoteEvent& event, absl::Time now);

  // A vote on the decided step of `decision` (VoteTaken::kDecided): an OVERFLOW
  // that came too late to count (an early skip) is seen in MemberView.
  void NoteLateVote(const Decision& decision, const VoteEvent& event);

  // The caller has gone; its vote stays.
  void Forget(CallId call);

  // The calls that wait now, each told `error`.
  std::vector<VoteAnswer> DismissAll(const absl::Status& error);

  // RestoreSession. CONFIG_MISMATCH, EPOCH_MISMATCH.
  absl::StatusOr<Change> Restore(const LossScaler& scaler,
                                 std::optional<std::int64_t> if_epoch,
                                 const std::string& request_id,
                                 const Moment& now) const;

  // Where the worker stands, if that incarnation is a live member. FENCED.
  absl::StatusOr<Membership> MembershipOf(const WorkerRef& worker) const;
  absl::StatusOr<MemberView> Find(const WorkerRef& worker,
                                  absl::Time now) const;
  std::vector<MemberView> Members(absl::Time now) const;

  GroupPhase phase() const { return phase_; }
  // OK if votes are taken; SESSION_PAUSED with what is missing, or
  // CHECKPOINT_MISMATCH naming the checkpoints and their holders.
  const absl::Status& why_closed() const { return why_closed_; }

 private:
  struct Waiting {
    WorkerRef worker;
    std::int64_t step = 0;
    // Its vote is recorded; otherwise it waits for a paused session.
    bool voted = false;
    absl::Time since;
  };

  // OK if the worker's name is free or rightly taken over, and there is room.
  absl::Status CheckPlace(const GroupState& roster, const JoinEvent& event,
                          absl::Time now) const;
  // Puts a vote on the open step into the ballot, if it belongs there.
  absl::Status Record(const VoteEvent& event, absl::Time now);
  // What a call is told after a change; nullopt: it waits on.
  std::optional<absl::Status> AnswerTo(const Waiting& waiting,
                                       const Change& change,
                                       const Ballot& counted) const;
  // OK if that incarnation is a live member.
  absl::Status CheckWorker(const WorkerRef& worker) const;
  void Renew(std::int64_t incarnation, absl::Time now);
  // Whether it is worth while to count the votes: an event costs nothing that
  // grows with the group until the last vote is in.
  bool MayEnd(absl::Time now) const;
  // Takes over what `state_` has become.
  void FollowState(absl::Time now);
  MemberView ViewOf(const Member& member, absl::Time now) const;

  SessionState state_;
  // Follow from state_.
  GroupPhase phase_ = GroupPhase::kIdle;
  absl::Status why_closed_;
  std::size_t roster_size_ = 0;
  bool somebody_gone_ = false;
  // Of the live members.
  Leases leases_;
  Ballot ballot_;
  bool overflow_voted_ = false;
  std::map<CallId, Waiting> waiting_;
  std::map<std::int64_t, std::int64_t> late_overflows_;
};

// Whether a voter may be told the stored decision of a step it voted on (R4,
// R5): RESYNC if it says APPLY and the voter's vote is not in it or stood on
// another base or on none, `session_uid` being the session's own;
// VOTE_CONFLICT if its recorded vote was another.
absl::Status MayBeTold(std::string_view session_uid, const Decision& decision,
                       const WorkerRef& worker, const Vote& vote);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_COORDINATOR_H_
