// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/coordinator.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/check_join.h"
#include "lossscaler/core/check_vote.h"
#include "lossscaler/core/coordinator_errors.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group_draft.h"
#include "lossscaler/core/solo.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {
namespace {

// The member that this very join has made.
const Member* FindJoin(const GroupState& group, const JoinEvent& event) {
  for (const Member& member : group.members) {
    if (member.worker == event.worker &&
        member.join_request_id == event.request_id) {
      return &member;
    }
  }
  return nullptr;
}

// What parameters contain by a vote of that session; nullopt: it does not say.
std::optional<Base> BaseOf(const Vote& vote, std::string_view session_uid) {
  if (!vote.base) return std::nullopt;
  return Base{.session_uid = vote.base_session_uid.empty()
                                 ? std::string(session_uid)
                                 : vote.base_session_uid,
              .step = *vote.base};
}

// In a group's decision votes are by incarnation; null: it did not vote.
const Vote* VoteOf(const Decision& decision, std::int64_t incarnation) {
  const auto vote =
      std::lower_bound(decision.votes.begin(), decision.votes.end(),
                       incarnation, [](const Vote& one, std::int64_t wanted) {
                         return one.incarnation < wanted;
                       });
  const bool found =
      vote != decision.votes.end() && vote->incarnation == incarnation;
  return found ? &*vote : nullptr;
}

// Whether waiting for a closed session is of no use.
bool IsHopeless(GroupPhase phase) {
  return phase == GroupPhase::kCheckpointMismatch ||
         phase == GroupPhase::kRestoreRequired;
}

absl::Status ClosedBecause(const GroupState& group, GroupPhase phase) {
  switch (phase) {
    case GroupPhase::kOpen:
      break;
    case GroupPhase::kRestoreRequired:
      return NeedsRestore();
    case GroupPhase::kCheckpointMismatch:
      return CheckpointMismatch(PresentedCheckpoints(group));
    case GroupPhase::kIdle:
    case GroupPhase::kPaused:
      return TooFewWorkers(static_cast<std::int64_t>(group.members.size()),
                           group.config.min_workers);
  }
  return absl::OkStatus();
}

}  // namespace

Coordinator::Coordinator(SessionState state, absl::Time now)
    : state_(std::move(state)) {
  FollowState(now);
}

void Coordinator::FollowState(absl::Time now) {
  roster_size_ = 0;
  somebody_gone_ = false;
  for (const Member& member : group().members) {
    if (member.state != MemberState::kPending) ++roster_size_;
    if (!IsLive(member)) somebody_gone_ = true;
    if (!IsLive(member)) {
      leases_.Drop(member.incarnation);
    } else if (!leases_.Has(member.incarnation)) {
      Renew(member.incarnation, now);
    }
  }
  phase_ = PhaseOf(group());
  why_closed_ = ClosedBecause(group(), phase_);
}

bool Coordinator::MayEnd(absl::Time now) const {
  return group().open && (overflow_voted_ || somebody_gone_ ||
                          ballot_.votes.size() >= roster_size_ ||
                          now >= StepDeadline(group(), ballot_));
}

std::optional<Change> Coordinator::Due(const Moment& now) const {
  const bool expired = leases_.FirstEnd() <= now.monotonic;
  const bool ends =
      MayEnd(now.monotonic) && Conclude(group(), ballot_, now.monotonic);
  const bool opens = !group().open && CanOpen(group());
  if (!expired && !ends && !opens) return std::nullopt;

  GroupDraft draft(state_, ballot_, now.wall);
  for (const std::int64_t incarnation : leases_.Over(now.monotonic)) {
    draft.Lose(incarnation);
  }
  if (draft.group().open) {
    if (const std::optional<Ending> ending =
            Conclude(draft.group(), ballot_, now.monotonic)) {
      draft.End(*ending);
    }
  } else if (CanOpen(draft.group())) {
    draft.Open();
  }
  return std::move(draft).Finish();
}

absl::Time Coordinator::NextDue() const {
  absl::Time due = leases_.FirstEnd();
  // In an open session every call that waits has voted.
  if (group().open) return std::min(due, StepDeadline(group(), ballot_));
  for (const auto& [call, waiting] : waiting_) {
    due = std::min(due, waiting.since + group().config.step_timeout);
  }
  return due;
}

std::vector<VoteAnswer> Coordinator::DueAnswers(absl::Time now) {
  std::vector<VoteAnswer> answers;
  if (group().open) return answers;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.since + group().config.step_timeout <= now) {
      answers.push_back({it->first, why_closed_});
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
  return answers;
}

void Coordinator::Postpone(absl::Duration duration) {
  leases_.Postpone(duration);
  if (ballot_.first_vote) *ballot_.first_vote += duration;
  for (auto& [call, waiting] : waiting_) waiting.since += duration;
}

std::vector<VoteAnswer> Coordinator::Install(const Change& change,
                                             absl::Time now) {
  for (const Member& member : group().members) {
    const Member* const now_member =
        FindMember(change.state.group->members, member.incarnation);
    if (now_member != nullptr && IsLive(*now_member)) continue;
    leases_.Drop(member.incarnation);
    late_overflows_.erase(member.incarnation);
  }
  state_ = change.state;
  FollowState(now);
  Ballot counted;
  if (change.decision) {
    counted = std::exchange(ballot_, {});
    overflow_voted_ = false;
  }

  std::vector<VoteAnswer> answers;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    std::optional<absl::Status> answer = AnswerTo(it->second, change, counted);
    if (!answer) {
      ++it;
      continue;
    }
    answers.push_back({it->first, *std::move(answer)});
    it = waiting_.erase(it);
  }
  return answers;
}

std::optional<absl::Status> Coordinator::AnswerTo(const Waiting& waiting,
                                                  const Change& change,
                                                  const Ballot& counted) const {
  if (change.decision && waiting.voted) {
    return MayBeTold(state_.uid, *change.decision, waiting.worker,
                     counted.votes.at(waiting.worker.incarnation));
  }
  if (absl::Status gone = CheckWorker(waiting.worker); !gone.ok()) return gone;
  // No vote of a closed session is in a decision: it is a restore.
  if (change.decision && change.decision->step == waiting.step) {
    return absl::OkStatus();
  }
  if (waiting.voted) return std::nullopt;
  if (group().open) return Resumed(state_.step);
  if (IsHopeless(phase_)) return why_closed_;
  return std::nullopt;
}

absl::StatusOr<Joined> Coordinator::Join(const JoinEvent& event,
                                         const Moment& now) {
  if (event.attempt >= 0 && event.attempt < group().attempt) {
    return StaleAttempt(event.attempt, group().attempt);
  }
  if (event.attempt == group().attempt) {
    if (const Member* member = FindJoin(group(), event)) {
      if (!IsLive(*member)) return Fenced({event.worker, member->incarnation});
      Renew(member->incarnation, now.monotonic);
      return Joined{.incarnation = member->incarnation};
    }
    for (const Departed& departed : group().departed) {
      if (departed.worker == event.worker &&
          departed.join_request_id == event.request_id) {
        return Fenced({event.worker, departed.incarnation});
      }
    }
  }
  if (absl::Status status = CheckJoin(state_, event); !status.ok()) {
    return status;
  }

  GroupDraft draft(state_, ballot_, now.wall);
  if (event.attempt > group().attempt) draft.BeginAttempt(event.attempt);
  if (absl::Status status = CheckPlace(draft.group(), event, now.monotonic);
      !status.ok()) {
    return status;
  }
  draft.LoseWorker(event.worker);
  const std::int64_t incarnation =
      draft.Add({.worker = event.worker,
                 .resume_token = event.new_token,
                 .join_request_id = event.request_id,
                 .checkpoint = event.checkpoint});
  return Joined{.incarnation = incarnation,
                .change = std::move(draft).Finish()};
}

absl::Status Coordinator::CheckPlace(const GroupState& roster,
                                     const JoinEvent& event,
                                     absl::Time now) const {
  std::int64_t others = 0;
  for (const Member& member : roster.members) {
    if (!IsLive(member)) continue;
    if (member.worker != event.worker) {
      ++others;
    } else if (event.resume_token.empty() ||
               event.resume_token != member.resume_token) {
      return WorkerHeld(member, ViewOf(member, now).lease_left);
    }
  }
  const std::int64_t limit = roster.config.max_workers;
  if (others < limit) return absl::OkStatus();
  return TooManyWorkers(others, limit, leases_.FirstEnd() - now);
}

absl::StatusOr<Change> Coordinator::Leave(const WorkerRef& worker,
                                          const Moment& now) {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  GroupDraft draft(state_, ballot_, now.wall);
  draft.Leave(worker.incarnation);
  return std::move(draft).Finish();
}

absl::Status Coordinator::KeepAlive(const WorkerRef& worker, absl::Time now) {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  Renew(worker.incarnation, now);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Change>> Coordinator::Present(
    const WorkerRef& worker, Checkpoint checkpoint, const Moment& now) {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  Renew(worker.incarnation, now.monotonic);
  const Member* member = FindMember(group().members, worker.incarnation);
  if (group().open || member->checkpoint == checkpoint) return std::nullopt;
  if (absl::Status status = CheckCheckpoint(state_, checkpoint); !status.ok()) {
    return status;
  }
  GroupDraft draft(state_, ballot_, now.wall);
  draft.Present(worker.incarnation, std::move(checkpoint));
  return std::move(draft).Finish();
}

absl::StatusOr<VoteTaken> Coordinator::Take(const VoteEvent& event,
                                            absl::Time now) {
  if (absl::Status status = CheckWorker(event.worker); !status.ok()) {
    return status;
  }
  const std::int64_t incarnation = event.worker.incarnation;
  Renew(incarnation, now);
  if (FindMember(group().members, incarnation)->state ==
      MemberState::kPending) {
    return NotActive(event.worker.worker, state_.step);
  }
  if (!event.step) return CheckGroupVote(event.step, event.vote);
  if (absl::Status status = CheckStep(state_, *event.step); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckGroupVote(event.step, event.vote);
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckVoteSize(event.vote, group().config.max_workers);
      !status.ok()) {
    return status;
  }
  if (*event.step < state_.step) return VoteTaken::kDecided;
  if (group().open) {
    if (absl::Status status = Record(event, now); !status.ok()) return status;
  } else if (IsHopeless(phase_)) {
    return why_closed_;
  }
  waiting_[event.call] = {.worker = event.worker,
                          .step = *event.step,
                          .voted = group().open,
                          .since = now};
  return VoteTaken::kWaits;
}

absl::Status Coordinator::Record(const VoteEvent& event, absl::Time now) {
  const std::int64_t incarnation = event.worker.incarnation;
  const auto recorded = ballot_.votes.find(incarnation);
  if (recorded != ballot_.votes.end()) {
    if (SameVote(recorded->second, event.vote)) return absl::OkStatus();
    return Conflict(*event.step, recorded->second, event.vote);
  }
  if (absl::Status status = CheckScale(state_, event.vote); !status.ok()) {
    return status;
  }
  const Base base{state_.base_session_uid(), state_.base};
  if (event.vote.verdict != Verdict::kAbstain &&
      BaseOf(event.vote, state_.uid) != base) {
    return StandsElsewhere(*event.step, base, event.vote);
  }
  if (!event.resolved.ok()) return event.resolved.status();
  Vote vote = event.vote;
  vote.worker = event.worker.worker;
  vote.incarnation = incarnation;
  vote.resolved = *event.resolved;
  if (vote.resolved == Verdict::kOverflow) overflow_voted_ = true;
  ballot_.votes[incarnation] = std::move(vote);
  if (!ballot_.first_vote) ballot_.first_vote = now;
  return absl::OkStatus();
}

void Coordinator::NoteLateVote(const Decision& decision,
                               const VoteEvent& event) {
  const std::int64_t incarnation = event.worker.incarnation;
  if (!event.resolved.ok() || *event.resolved != Verdict::kOverflow) return;
  if (!CheckWorker(event.worker).ok() || decision.step != event.step) return;
  for (const Vote& vote : decision.votes) {
    if (vote.incarnation == incarnation) return;
  }
  std::int64_t& noted = late_overflows_[incarnation];
  noted = std::max(noted, decision.step);
}

void Coordinator::Forget(CallId call) { waiting_.erase(call); }

std::vector<VoteAnswer> Coordinator::DismissAll(const absl::Status& error) {
  std::vector<VoteAnswer> answers;
  for (const auto& [call, waiting] : waiting_) answers.push_back({call, error});
  waiting_.clear();
  return answers;
}

absl::StatusOr<Change> Coordinator::Restore(
    const LossScaler& scaler, std::optional<std::int64_t> if_epoch,
    const std::string& request_id, const Moment& now) const {
  if (absl::Status status = CheckRestore(state_, scaler, if_epoch);
      !status.ok()) {
    return status;
  }
  GroupDraft draft(state_, ballot_, now.wall);
  draft.Restore(scaler, request_id);
  return std::move(draft).Finish();
}

absl::Status Coordinator::CheckWorker(const WorkerRef& worker) const {
  const Member* member = FindMember(group().members, worker.incarnation);
  if (member == nullptr || member->worker != worker.worker ||
      !IsLive(*member)) {
    return Fenced(worker);
  }
  return absl::OkStatus();
}

absl::StatusOr<Membership> Coordinator::MembershipOf(
    const WorkerRef& worker) const {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  return Membership{
      .state = FindMember(group().members, worker.incarnation)->state,
      .phase = phase_,
      .current = state_.current(),
      .closed = why_closed_};
}

absl::StatusOr<MemberView> Coordinator::Find(const WorkerRef& worker,
                                             absl::Time now) const {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  return ViewOf(*FindMember(group().members, worker.incarnation), now);
}

std::vector<MemberView> Coordinator::Members(absl::Time now) const {
  std::vector<MemberView> views;
  for (const Member& member : group().members) {
    views.push_back(ViewOf(member, now));
  }
  return views;
}

MemberView Coordinator::ViewOf(const Member& member, absl::Time now) const {
  MemberView view{.member = member,
                  .lease_left = leases_.Left(member.incarnation, now)};
  if (const auto vote = ballot_.votes.find(member.incarnation);
      vote != ballot_.votes.end()) {
    view.vote = vote->second;
  }
  if (const auto late = late_overflows_.find(member.incarnation);
      late != late_overflows_.end()) {
    view.late_overflow = late->second;
  }
  return view;
}

void Coordinator::Renew(std::int64_t incarnation, absl::Time now) {
  leases_.Renew(incarnation, now + group().config.lease_ttl);
}

absl::Status MayBeTold(std::string_view session_uid, const Decision& decision,
                       const WorkerRef& worker, const Vote& vote) {
  const auto base = [&](const std::string& uid, std::int64_t step) {
    return Base{uid.empty() ? std::string(session_uid) : uid, step};
  };
  const Base before =
      base(decision.base_before_session_uid, decision.base_before);
  const Base after = base(decision.base_after_session_uid, decision.base_after);
  const Vote* const recorded = VoteOf(decision, worker.incarnation);
  if (recorded == nullptr) {
    return decision.apply() ? AppliedWithout(decision.step, after, vote)
                            : absl::OkStatus();
  }
  const std::optional<Base> stands = BaseOf(*recorded, session_uid);
  if (!SameVote(*recorded, vote) || stands != BaseOf(vote, session_uid)) {
    return Conflict(decision.step, *recorded, vote);
  }
  if (decision.apply() && stands != before) {
    return AppliedWithout(decision.step, after, vote);
  }
  return absl::OkStatus();
}

}  // namespace lossscaler
