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

const Member* FindMember(const GroupState& group, std::int64_t incarnation) {
  for (const Member& member : group.members) {
    if (member.incarnation == incarnation) return &member;
  }
  return nullptr;
}

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

// Whether waiting for a closed session is of no use.
bool IsHopeless(GroupPhase phase) {
  return phase == GroupPhase::kCheckpointMismatch ||
         phase == GroupPhase::kRestoreRequired;
}

}  // namespace

Coordinator::Coordinator(SessionState state, absl::Time now)
    : state_(std::move(state)) {
  for (const Member& member : group().members) {
    if (IsLive(member)) Renew(member.incarnation, now);
  }
}

bool Coordinator::Expired(const Member& member, absl::Time now) const {
  const auto lease = leases_.find(member.incarnation);
  return IsLive(member) && lease != leases_.end() && lease->second <= now;
}

std::optional<Change> Coordinator::Due(const Moment& now) const {
  std::vector<std::int64_t> expired;
  for (const Member& member : group().members) {
    if (Expired(member, now.monotonic)) expired.push_back(member.incarnation);
  }
  const bool may_open = !group().open && expired.empty();
  if (may_open && !CanOpen(group())) return std::nullopt;
  if (group().open && expired.empty() &&
      !Conclude(group(), ballot_, now.monotonic)) {
    return std::nullopt;
  }

  GroupDraft draft(state_, ballot_, now.wall);
  for (const std::int64_t incarnation : expired) draft.Lose(incarnation);
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
  absl::Time due = absl::InfiniteFuture();
  for (const auto& [incarnation, lease] : leases_) due = std::min(due, lease);
  if (group().open) due = std::min(due, StepDeadline(group(), ballot_));
  for (const auto& [call, waiting] : waiting_) {
    if (waiting.voted) continue;
    due = std::min(due, waiting.since + group().config.step_timeout);
  }
  return due;
}

std::vector<VoteAnswer> Coordinator::DueAnswers(absl::Time now) {
  std::vector<VoteAnswer> answers;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const Waiting& waiting = it->second;
    if (!waiting.voted && waiting.since + group().config.step_timeout <= now) {
      answers.push_back({it->first, WhyClosed()});
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
  return answers;
}

std::vector<VoteAnswer> Coordinator::Install(const Change& change,
                                             absl::Time now) {
  state_ = change.state;
  Ballot counted;
  if (change.decision) counted = std::exchange(ballot_, {});

  std::map<std::int64_t, absl::Time> leases;
  for (const Member& member : group().members) {
    if (!IsLive(member)) continue;
    const auto held = leases_.find(member.incarnation);
    leases[member.incarnation] =
        held != leases_.end() ? held->second : now + group().config.lease_ttl;
  }
  leases_ = std::move(leases);
  std::erase_if(late_overflows_, [this](const auto& entry) {
    return !leases_.contains(entry.first);
  });

  std::vector<VoteAnswer> answers;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto& [call, waiting] = *it;
    std::optional<absl::StatusOr<Decision>> answer;
    if (waiting.voted && change.decision) {
      answer = AnswerFrom(state_.uid, *change.decision, waiting.worker,
                          counted.votes.at(waiting.worker.incarnation));
    } else {
      answer = NewsFor(waiting);
    }
    if (!answer) {
      ++it;
      continue;
    }
    answers.push_back({call, *std::move(answer)});
    it = waiting_.erase(it);
  }
  return answers;
}

std::optional<absl::Status> Coordinator::NewsFor(const Waiting& waiting) const {
  if (absl::Status gone = CheckWorker(waiting.worker); !gone.ok()) return gone;
  if (waiting.voted) return std::nullopt;
  if (group().open) return Resumed(state_.step);
  if (IsHopeless(phase())) return WhyClosed();
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
  return others < limit ? absl::OkStatus() : TooManyWorkers(others, limit);
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
  return phase() == GroupPhase::kCheckpointMismatch ? WhyClosed()
                                                    : absl::OkStatus();
}

absl::StatusOr<std::optional<Change>> Coordinator::Present(
    const WorkerRef& worker, Checkpoint checkpoint, const Moment& now) {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  Renew(worker.incarnation, now.monotonic);
  const Member* member = FindMember(group(), worker.incarnation);
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
  if (FindMember(group(), incarnation)->state == MemberState::kPending) {
    return NotActive(event.worker.worker, state_.step);
  }
  if (absl::Status status = CheckStep(state_, event.step); !status.ok()) {
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
  if (event.step < state_.step) return VoteTaken::kDecided;
  if (group().open) {
    if (absl::Status status = Record(event, now); !status.ok()) return status;
  } else if (IsHopeless(phase())) {
    return WhyClosed();
  }
  waiting_[event.call] = {
      .worker = event.worker, .voted = group().open, .since = now};
  return VoteTaken::kWaits;
}

absl::Status Coordinator::Record(const VoteEvent& event, absl::Time now) {
  const std::int64_t incarnation = event.worker.incarnation;
  const auto recorded = ballot_.votes.find(incarnation);
  if (recorded != ballot_.votes.end()) {
    if (SameVote(recorded->second, event.vote)) return absl::OkStatus();
    return Conflict(event.step, recorded->second, event.vote);
  }
  if (absl::Status status = CheckScale(state_, event.vote); !status.ok()) {
    return status;
  }
  const Base base{state_.base_session_uid(), state_.base};
  if (event.vote.verdict != Verdict::kAbstain &&
      BaseOf(event.vote, state_.uid) != base) {
    return StandsElsewhere(event.step, base, event.vote);
  }
  if (!event.resolved.ok()) return event.resolved.status();
  Vote vote = event.vote;
  vote.worker = event.worker.worker;
  vote.incarnation = incarnation;
  vote.resolved = *event.resolved;
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
  const Member* member = FindMember(group(), worker.incarnation);
  if (member == nullptr || member->worker != worker.worker ||
      !IsLive(*member)) {
    return Fenced(worker);
  }
  return absl::OkStatus();
}

GroupPhase Coordinator::phase() const { return PhaseOf(group()); }

absl::Status Coordinator::WhyClosed() const {
  switch (phase()) {
    case GroupPhase::kOpen:
      break;
    case GroupPhase::kRestoreRequired:
      return NeedsRestore();
    case GroupPhase::kCheckpointMismatch:
      return CheckpointMismatch(PresentedCheckpoints(group()));
    case GroupPhase::kIdle:
    case GroupPhase::kPaused:
      return TooFewWorkers(static_cast<std::int64_t>(group().members.size()),
                           group().config.min_workers);
  }
  return absl::OkStatus();
}

absl::StatusOr<MemberView> Coordinator::Find(const WorkerRef& worker,
                                             absl::Time now) const {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  return ViewOf(*FindMember(group(), worker.incarnation), now);
}

std::vector<MemberView> Coordinator::Members(absl::Time now) const {
  std::vector<MemberView> views;
  for (const Member& member : group().members) {
    views.push_back(ViewOf(member, now));
  }
  return views;
}

MemberView Coordinator::ViewOf(const Member& member, absl::Time now) const {
  MemberView view{.member = member};
  if (const auto lease = leases_.find(member.incarnation);
      lease != leases_.end()) {
    view.lease_left = std::max(lease->second - now, absl::ZeroDuration());
  }
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
  absl::Time& lease = leases_[incarnation];
  lease = std::max(lease, now + group().config.lease_ttl);
}

absl::StatusOr<Decision> AnswerFrom(std::string_view session_uid,
                                    const Decision& decision,
                                    const WorkerRef& worker, const Vote& vote) {
  const auto base = [&](const std::string& uid, std::int64_t step) {
    return Base{uid.empty() ? std::string(session_uid) : uid, step};
  };
  const Base before =
      base(decision.base_before_session_uid, decision.base_before);
  const Base after = base(decision.base_after_session_uid, decision.base_after);
  for (const Vote& recorded : decision.votes) {
    if (recorded.incarnation != worker.incarnation) continue;
    const std::optional<Base> stands = BaseOf(recorded, session_uid);
    if (!SameVote(recorded, vote) || stands != BaseOf(vote, session_uid)) {
      return Conflict(decision.step, recorded, vote);
    }
    if (decision.apply() && stands != before) {
      return AppliedWithout(decision.step, after, vote);
    }
    return decision;
  }
  if (decision.apply()) return AppliedWithout(decision.step, after, vote);
  return decision;
}

}  // namespace lossscaler
