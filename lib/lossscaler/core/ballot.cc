// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/ballot.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lossscaler {
namespace {

bool HasVote(const Ballot& ballot, Verdict verdict) {
  return std::any_of(
      ballot.votes.begin(), ballot.votes.end(),
      [&](const auto& entry) { return entry.second.resolved == verdict; });
}

bool OnRoster(const Member& member) {
  return member.state != MemberState::kPending;
}

// Whether nothing is missing of the member.
bool IsIn(const Member& member, const Ballot& ballot) {
  return ballot.votes.contains(member.incarnation) ||
         (member.state == MemberState::kLeft && !member.left_after_voting);
}

// Whether a vote that is missing cannot come any more.
bool IsLoss(const Member& member) { return !IsLive(member); }

Ending Skip(DecisionReason reason) {
  return {.outcome = Outcome::kSkip, .reason = reason};
}

Ending Abort(DecisionReason reason) {
  return {.outcome = Outcome::kAborted, .reason = reason};
}

Ending SkipOverflow() {
  return {.outcome = Outcome::kSkipOverflow,
          .reason = DecisionReason::kOverflow,
          .overflow = true};
}

// The highest iteration, if the votes that would apply name different ones.
std::optional<std::int64_t> MismatchedIteration(const Ballot& ballot) {
  std::optional<std::int64_t> low;
  std::optional<std::int64_t> high;
  for (const auto& [incarnation, vote] : ballot.votes) {
    if (vote.resolved == Verdict::kAbstain || !vote.iteration) continue;
    low = std::min(low.value_or(*vote.iteration), *vote.iteration);
    high = std::max(high.value_or(*vote.iteration), *vote.iteration);
  }
  return low == high ? std::nullopt : high;
}

void AddPart(const PartVote& part, PartOutcome* outcome) {
  if (part.verdict == Verdict::kOverflow) outcome->apply = false;
  if (!part.sum_of_squares) outcome->sum_of_squares.reset();
  if (outcome->sum_of_squares) {
    *outcome->sum_of_squares += *part.sum_of_squares;
  }
}

// The end over the votes there are, some of them OVERFLOW.
Ending TallyOverflow(const GroupState& group, const Ballot& ballot) {
  Ending ending = SkipOverflow();
  if (const auto high = MismatchedIteration(ballot)) {
    ending.next_iteration = *high + 1;
    return ending;
  }
  if (group.config.parts == PartPolicy::kAll ||
      HasVote(ballot, Verdict::kSkip)) {
    return ending;
  }
  const std::vector<PartOutcome> parts = PartOutcomes(ballot, Outcome::kApply);
  if (std::any_of(parts.begin(), parts.end(),
                  [](const PartOutcome& part) { return part.apply; })) {
    ending.outcome = Outcome::kApply;
    ending.reason = DecisionReason::kPartsOverflow;
  }
  return ending;
}

// The end over the votes there are (R6).
Ending Tally(const GroupState& group, const Ballot& ballot) {
  if (HasVote(ballot, Verdict::kOverflow)) return TallyOverflow(group, ballot);
  if (HasVote(ballot, Verdict::kSkip)) return Skip(DecisionReason::kVotedSkip);
  if (!HasVote(ballot, Verdict::kFinite)) {
    return Skip(DecisionReason::kAllAbstained);
  }
  if (const auto high = MismatchedIteration(ballot)) {
    Ending ending = Skip(DecisionReason::kIterationMismatch);
    ending.next_iteration = *high + 1;
    return ending;
  }
  return Ending();
}

bool Enough(const GroupState& group, const Ballot& ballot) {
  return static_cast<std::int64_t>(ballot.votes.size()) >=
         group.config.min_workers;
}

// Who is on the roster, as far as votes go.
struct Attendance {
  // Whether anybody is left, on the roster or waiting to be.
  bool live = false;
  // Whether a vote is missing that cannot come any more.
  bool loss = false;
  // Whose vote may still come.
  std::vector<std::int64_t> stragglers;
};

Attendance Attend(const GroupState& group, const Ballot& ballot) {
  Attendance attendance;
  for (const Member& member : group.members) {
    attendance.live = attendance.live || IsLive(member);
    if (!OnRoster(member) || IsIn(member, ballot)) continue;
    if (IsLoss(member)) {
      attendance.loss = true;
    } else {
      attendance.stragglers.push_back(member.incarnation);
    }
  }
  return attendance;
}

// The end of a step in which a member was lost (R8).
Ending EndByLoss(const GroupState& group, const Ballot& ballot) {
  switch (group.config.on_loss) {
    case LossPolicy::kAbort:
      return Abort(DecisionReason::kWorkerLost);
    case LossPolicy::kProceed:
      if (Enough(group, ballot)) return Tally(group, ballot);
      break;
    case LossPolicy::kSkip:
      break;
  }
  return Skip(DecisionReason::kWorkerLost);
}

// The end of a step that took too long (R7).
Ending EndByTime(const GroupState& group, const Ballot& ballot,
                 const std::vector<std::int64_t>& stragglers) {
  const GroupConfig& config = group.config;
  if (group.timeouts + 1 >= config.max_timeouts ||
      config.on_timeout == StragglerPolicy::kAbort) {
    Ending ending = Abort(DecisionReason::kTimeout);
    ending.evicted = stragglers;
    return ending;
  }
  if (config.on_timeout == StragglerPolicy::kProceed && Enough(group, ballot)) {
    Ending ending = Tally(group, ballot);
    ending.evicted = stragglers;
    return ending;
  }
  return Skip(DecisionReason::kTimeout);
}

}  // namespace

std::optional<Ending> Conclude(const GroupState& group, const Ballot& ballot,
                               absl::Time now) {
  const GroupConfig& config = group.config;
  const bool overflow = HasVote(ballot, Verdict::kOverflow);
  if (overflow && config.early_decision && config.parts == PartPolicy::kAll) {
    return SkipOverflow();
  }
  const Attendance attendance = Attend(group, ballot);
  if (!attendance.live) return Abandon(ballot, DecisionReason::kNoWorkers);
  const bool waiting = !attendance.stragglers.empty();
  if (!waiting && !attendance.loss) return Tally(group, ballot);

  if (attendance.loss && (config.on_loss != LossPolicy::kProceed || !waiting)) {
    return overflow ? SkipOverflow() : EndByLoss(group, ballot);
  }
  if (now < StepDeadline(group, ballot)) return std::nullopt;
  Ending ending = overflow ? SkipOverflow()
                           : EndByTime(group, ballot, attendance.stragglers);
  ending.timed_out = true;
  return ending;
}

Ending Abandon(const Ballot& ballot, DecisionReason reason) {
  return HasVote(ballot, Verdict::kOverflow) ? SkipOverflow() : Abort(reason);
}

std::vector<PartOutcome> PartOutcomes(const Ballot& ballot, Outcome outcome) {
  std::map<std::string, PartOutcome> parts;
  bool whole_overflow = outcome != Outcome::kApply;
  bool whole = false;
  for (const auto& [incarnation, vote] : ballot.votes) {
    if (vote.parts.empty() && vote.resolved != Verdict::kAbstain) whole = true;
    if (vote.parts.empty() && vote.resolved == Verdict::kOverflow) {
      whole_overflow = true;
    }
    for (const PartVote& part : vote.parts) {
      const auto [entry, fresh] = parts.try_emplace(part.name);
      if (fresh) {
        entry->second = {
            .name = part.name, .apply = true, .sum_of_squares = 0.0};
      }
      AddPart(part, &entry->second);
    }
  }
  std::vector<PartOutcome> list;
  for (auto& [name, part] : parts) {
    if (whole_overflow) part.apply = false;
    if (whole || !part.apply) part.sum_of_squares.reset();
    list.push_back(std::move(part));
  }
  return list;
}

absl::Time StepDeadline(const GroupState& group, const Ballot& ballot) {
  if (!ballot.first_vote || group.config.on_timeout == StragglerPolicy::kWait) {
    return absl::InfiniteFuture();
  }
  return *ballot.first_vote + group.config.step_timeout;
}

}  // namespace lossscaler
