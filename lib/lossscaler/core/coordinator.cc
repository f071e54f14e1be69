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
#include "lossscaler/core/ending_text.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group_draft.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/solo.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {
namespace {

// What a caller waits before it votes in a session that has just resumed.
constexpr absl::Duration kResumeDelay = absl::Milliseconds(1);
// And before it asks whether it is active.
constexpr absl::Duration kPendingDelay = absl::Milliseconds(100);

const Member* FindMember(const GroupState& group, std::int64_t incarnation) {
  for (const Member& member : group.members) {
    if (member.incarnation == incarnation) return &member;
  }
  return nullptr;
}

absl::Status Fenced(const WorkerRef& worker) {
  return MakeError(
      Reason::kFenced,
      absl::StrCat("worker ", Quoted(worker.worker), " with incarnation ",
                   worker.incarnation,
                   " is no member of the session any more; join again, and "
                   "apply nothing that it was not told to"),
      {{"worker", Quoted(worker.worker)},
       {"incarnation", absl::StrCat(worker.incarnation)}});
}

absl::Status Resync(std::int64_t step, const Base& base, const Vote& vote) {
  return MakeError(
      Reason::kResync,
      absl::StrCat("the voter's parameters contain ",
                   vote.base ? absl::StrCat("base ", *vote.base, " of session ",
                                            Quoted(vote.base_session_uid))
                             : std::string("no base that it named"),
                   " but step ", step, " builds on base ", base.step,
                   " of session ", Quoted(base.session_uid),
                   "; load parameters that contain it, or leave"),
      {{"step", absl::StrCat(step)},
       {"base", absl::StrCat(base.step)},
       {"session_uid", base.session_uid},
       {"base_of_vote", absl::StrCat(vote.base.value_or(0))},
       {"session_uid_of_vote", Quoted(vote.base_session_uid)}});
}

absl::Status Conflict(std::int64_t step, const Vote& recorded,
                      const Vote& vote) {
  const std::string first(VerdictName(recorded.verdict));
  const std::string second(VerdictName(vote.verdict));
  return MakeError(
      Reason::kVoteConflict,
      absl::StrCat("the worker's vote of ", first, " on step ", step,
                   " is recorded, and this vote of ", second,
                   " says something else; the first one stands: do not apply "
                   "these gradients"),
      {{"step", absl::StrCat(step)},
       {"recorded_verdict", first},
       {"verdict", second}});
}

absl::Status MissingField(std::string_view field, std::string_view what) {
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " is not set; a vote in a group names ",
                   std::string(what)),
      {{"field", std::string(field)}});
}

// Whether a vote says what a vote in a group must (R5).
absl::Status CheckGroupVote(const Vote& vote) {
  if (vote.verdict == Verdict::kAbstain) {
    if (!vote.iteration) return absl::OkStatus();
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("iteration is ", *vote.iteration,
                     "; who abstains names none"),
        {{"field", "iteration"}, {"value", absl::StrCat(*vote.iteration)}});
  }
  if (!vote.base) return MissingField("base", "what its parameters contain");
  if (!vote.scale_used && vote.verdict != Verdict::kSkip) {
    return MissingField("scale_used",
                        "the scale that its gradients were made "
                        "with");
  }
  return absl::OkStatus();
}

// Whether a join makes sense whatever the roster is.
absl::Status CheckJoin(const SessionState& state, const JoinEvent& event) {
  if (absl::Status status = ValidateId("worker", event.worker); !status.ok()) {
    return status;
  }
  if (absl::Status status = ValidateRequestId(event.request_id); !status.ok()) {
    return status;
  }
  if (event.request_id.empty()) {
    return MakeError(Reason::kRequestIdRequired,
                     "the join has no request_id, so that a repeated call "
                     "would be another worker; set one");
  }
  if (event.attempt < 0) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("attempt is ", event.attempt,
                     "; it is 0, or counts the starts of the job "
                     "from 1 on"),
        {{"field", "attempt"}, {"value", absl::StrCat(event.attempt)}});
  }
  if (!event.checkpoint) return absl::OkStatus();
  return CheckSavedScaler(state.config, event.checkpoint->scaler);
}

// "'w0', 'w1': Dynamic{scale: 4, ...}, base 3 of session 'x', iteration 7".
std::string Text(const PresentedCheckpoint& presented) {
  const Checkpoint& checkpoint = presented.checkpoint;
  return absl::StrCat(
      NameList(presented.holders), ": ", checkpoint.scaler.DebugString(),
      ", base ", checkpoint.base.step, " of session ",
      Quoted(checkpoint.base.session_uid),
      checkpoint.iteration ? absl::StrCat(", iteration ", *checkpoint.iteration)
                           : "");
}

Base BaseOf(const Vote& vote) {
  return {.session_uid = vote.base_session_uid, .step = vote.base.value_or(0)};
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

  std::vector<VoteAnswer> answers;
  const absl::Status closed = WhyClosed();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto& [call, waiting] = *it;
    if (waiting.voted && change.decision) {
      answers.push_back(
          {call, AnswerFrom(state_.uid, *change.decision, waiting.worker,
                            counted.votes.at(waiting.worker.incarnation))});
    } else if (absl::Status gone = CheckWorker(waiting.worker); !gone.ok()) {
      answers.push_back({call, gone});
    } else if (!waiting.voted && group().open) {
      answers.push_back(
          {call, MakeRetryableError(
                     Reason::kSessionPaused,
                     absl::StrCat("the session has resumed with step ",
                                  state_.step, "; compute it and vote"),
                     kResumeDelay, {{"step", absl::StrCat(state_.step)}})});
    } else if (!waiting.voted &&
               ReasonOf(closed) == Reason::kCheckpointMismatch) {
      answers.push_back({call, closed});
    } else {
      ++it;
      continue;
    }
    it = waiting_.erase(it);
  }
  return answers;
}

absl::StatusOr<Joined> Coordinator::Join(const JoinEvent& event,
                                         const Moment& now) {
  if (absl::Status status = CheckJoin(state_, event); !status.ok()) {
    return status;
  }
  for (const Member& member : group().members) {
    if (member.worker != event.worker ||
        member.join_request_id != event.request_id) {
      continue;
    }
    if (!IsLive(member)) return Fenced({event.worker, member.incarnation});
    Renew(member.incarnation, now.monotonic);
    return Joined{.incarnation = member.incarnation};
  }
  for (const Departed& departed : group().departed) {
    if (departed.worker == event.worker &&
        departed.join_request_id == event.request_id) {
      return Fenced({event.worker, departed.incarnation});
    }
  }
  if (event.attempt < group().attempt) {
    return MakeError(
        Reason::kStaleAttempt,
        absl::StrCat("the worker belongs to attempt ", event.attempt,
                     " of the job, and the session is at attempt ",
                     group().attempt, "; end this process"),
        {{"attempt", absl::StrCat(event.attempt)},
         {"current_attempt", absl::StrCat(group().attempt)}});
  }

  GroupDraft draft(state_, ballot_, now.wall);
  if (event.attempt > group().attempt) draft.BeginAttempt(event.attempt);
  std::int64_t live = 0;
  for (const Member& member : draft.group().members) {
    if (!IsLive(member)) continue;
    if (member.worker != event.worker) {
      ++live;
      continue;
    }
    if (event.resume_token.empty() ||
        event.resume_token != member.resume_token) {
      const absl::Duration left =
          leases_.at(member.incarnation) - now.monotonic;
      return MakeRetryableError(
          Reason::kWorkerHeld,
          absl::StrCat("worker ", Quoted(event.worker),
                       " is held by incarnation ", member.incarnation,
                       ", whose lease runs for another ",
                       absl::FormatDuration(left),
                       "; show its resume token, wait, or take another name"),
          left,
          {{"worker", Quoted(event.worker)},
           {"incarnation", absl::StrCat(member.incarnation)},
           {"lease_left", absl::FormatDuration(left)}});
    }
  }
  const std::int64_t limit = group().config.max_workers;
  if (live >= limit) {
    return MakeError(
        Reason::kTooManyWorkers,
        absl::StrCat("the session has ", live, " workers, and takes at most ",
                     limit, "; wait until one has left"),
        {{"workers", absl::StrCat(live)}, {"limit", absl::StrCat(limit)}});
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
  const absl::Status closed = WhyClosed();
  if (ReasonOf(closed) == Reason::kCheckpointMismatch) return closed;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Change>> Coordinator::Present(
    const WorkerRef& worker, Checkpoint checkpoint, const Moment& now) {
  if (absl::Status status = CheckWorker(worker); !status.ok()) return status;
  Renew(worker.incarnation, now.monotonic);
  const Member* member = FindMember(group(), worker.incarnation);
  if (group().open || member->checkpoint == checkpoint) return std::nullopt;
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
    return MakeRetryableError(
        Reason::kNotActive,
        absl::StrCat("worker ", Quoted(event.worker.worker),
                     " joins with the step after ", state_.step,
                     "; wait until it is active"),
        kPendingDelay,
        {{"worker", Quoted(event.worker.worker)},
         {"step", absl::StrCat(state_.step)}});
  }
  if (absl::Status status = CheckStep(state_, event.step); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckGroupVote(event.vote); !status.ok()) {
    return status;
  }
  if (event.step < state_.step) return VoteTaken::kDecided;
  if (!group().open) {
    const absl::Status closed = WhyClosed();
    if (ReasonOf(closed) == Reason::kCheckpointMismatch) return closed;
    waiting_[event.call] = {.worker = event.worker,
                            .step = event.step,
                            .voted = false,
                            .since = now};
    return VoteTaken::kWaits;
  }

  const auto recorded = ballot_.votes.find(incarnation);
  if (recorded != ballot_.votes.end()) {
    if (!SameVote(recorded->second, event.vote)) {
      return Conflict(event.step, recorded->second, event.vote);
    }
  } else {
    if (absl::Status status = CheckScale(state_, event.vote); !status.ok()) {
      return status;
    }
    const Base base{state_.base_session_uid(), state_.base};
    if (event.vote.verdict != Verdict::kAbstain && BaseOf(event.vote) != base) {
      return Resync(event.step, base, event.vote);
    }
    if (!event.resolved.ok()) return event.resolved.status();
    Vote vote = event.vote;
    vote.worker = event.worker.worker;
    vote.incarnation = incarnation;
    vote.resolved = *event.resolved;
    ballot_.votes[incarnation] = std::move(vote);
    if (!ballot_.first_vote) ballot_.first_vote = now;
  }
  waiting_[event.call] = {
      .worker = event.worker, .step = event.step, .voted = true, .since = now};
  return VoteTaken::kWaits;
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

absl::Status Coordinator::WhyClosed() const {
  if (group().open) return absl::OkStatus();
  const std::vector<PresentedCheckpoint> presented =
      PresentedCheckpoints(group());
  const auto members = static_cast<std::int64_t>(group().members.size());
  if (members < group().config.min_workers || presented.size() <= 1) {
    return MakeRetryableError(
        Reason::kSessionPaused,
        absl::StrCat("the session has ", members, " workers and needs ",
                     group().config.min_workers, "; wait for the others"),
        kPendingDelay,
        {{"workers", absl::StrCat(members)},
         {"min_workers", absl::StrCat(group().config.min_workers)}});
  }
  std::string list;
  ErrorMetadata metadata;
  for (const PresentedCheckpoint& one : presented) {
    absl::StrAppend(&list, list.empty() ? "" : "; ", Text(one));
    metadata.emplace_back(absl::StrCat("checkpoint_", metadata.size()),
                          Text(one));
  }
  return MakeError(
      Reason::kCheckpointMismatch,
      absl::StrCat("the workers have loaded different checkpoints (", list,
                   "); load one and present it, or leave"),
      metadata);
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
  return view;
}

void Coordinator::Renew(std::int64_t incarnation, absl::Time now) {
  absl::Time& lease = leases_[incarnation];
  lease = std::max(lease, now + group().config.lease_ttl);
}

absl::StatusOr<Decision> AnswerFrom(std::string_view session_uid,
                                    const Decision& decision,
                                    const WorkerRef& worker, const Vote& vote) {
  const Base base{decision.base_before_session_uid.empty()
                      ? std::string(session_uid)
                      : decision.base_before_session_uid,
                  decision.base_before};
  for (const Vote& recorded : decision.votes) {
    if (recorded.incarnation != worker.incarnation) continue;
    if (!SameVote(recorded, vote)) {
      return Conflict(decision.step, recorded, vote);
    }
    if (decision.apply() && BaseOf(recorded) != base) {
      return Resync(decision.step, base, vote);
    }
    return decision;
  }
  if (decision.apply()) return Resync(decision.step, base, vote);
  return decision;
}

}  // namespace lossscaler
