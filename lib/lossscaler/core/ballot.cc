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

// Whether its vote is missing and cannot come any more.
bool IsLoss(const Member& member, const Ballot& ballot) {
  return (member.state == MemberState::kLost ||
          member.state == MemberState::kLeft) &&
         !IsIn(member, ballot);
}

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

// Every part that a vote names, with what becomes of it. A vote without parts
// speaks for every part.
std::vector<PartOutcome> PartsOf(const Ballot& ballot) {
  std::map<std::string, PartOutcome> parts;
  bool all_overflow = false;
  for (const auto& [incarnation, vote] : ballot.votes) {
    if (vote.parts.empty() && vote.resolved == Verdict::kOverflow) {
      all_overflow = true;
    }
    for (const PartVote& part : vote.parts) {
      PartOutcome& outcome = parts[part.name];
      outcome.name = part.name;
      if (part.verdict == Verdict::kOverflow) outcome.apply = false;
    }
  }
  std::vector<PartOutcome> list;
  for (auto& [name, outcome] : parts) {
    if (all_overflow) outcome.apply = false;
    list.push_back(std::move(outcome));
  }
  return list;
}

// The end over the votes there are (R6).
Ending Tally(const GroupState& group, const Ballot& ballot) {
  const bool overflow = HasVote(ballot, Verdict::kOverflow);
  if (overflow && group.config.parts == PartPolicy::kAll) return SkipOverflow();
  if (HasVote(ballot, Verdict::kSkip)) {
    return overflow ? SkipOverflow() : Skip(DecisionReason::kVotedSkip);
  }
  if (!overflow && !HasVote(ballot, Verdict::kFinite)) {
    return Skip(DecisionReason::kAllAbstained);
  }
  if (const auto high = MismatchedIteration(ballot)) {
    if (overflow) return SkipOverflow();
    Ending ending = Skip(DecisionReason::kIterationMismatch);
    ending.next_iteration = *high + 1;
    return ending;
  }
  std::vector<PartOutcome> parts = PartsOf(ballot);
  const bool some_apply =
      std::any_of(parts.begin(), parts.end(),
                  [](const PartOutcome& part) { return part.apply; });
  Ending ending;
  if (overflow) ending = SkipOverflow();
  if (overflow && some_apply) {
    ending.outcome = Outcome::kApply;
    ending.reason = DecisionReason::kPartsOverflow;
  }
  ending.parts = std::move(parts);
  return ending;
}

}  // namespace

std::optional<Ending> Conclude(const GroupState& group, const Ballot& ballot,
                               absl::Time now) {
  const GroupConfig& config = group.config;
  const bool overflow = HasVote(ballot, Verdict::kOverflow);
  if (overflow && config.early_decision && config.parts == PartPolicy::kAll) {
    return SkipOverflow();
  }

  bool live = false;
  bool complete = true;
  bool loss = false;
  std::vector<std::int64_t> stragglers;
  for (const Member& member : group.members) {
    live = live || member.state == MemberState::kPending ||
           member.state == MemberState::kActive;
    if (!OnRoster(member) || IsIn(member, ballot)) continue;
    complete = false;
    if (IsLoss(member, ballot)) {
      loss = true;
    } else {
      stragglers.push_back(member.incarnation);
    }
  }
  if (complete && live) return Tally(group, ballot);

  const bool late = now >= StepDeadline(group, ballot);
  const bool enough =
      static_cast<std::int64_t>(ballot.votes.size()) >= config.min_workers;
  const bool loss_ends =
      loss && (config.on_loss != LossPolicy::kProceed || stragglers.empty());
  if (live && !loss_ends && !late) return std::nullopt;
  if (overflow) return SkipOverflow();
  if (!live) return Abort(DecisionReason::kNoWorkers);
  if (loss_ends) {
    switch (config.on_loss) {
      case LossPolicy::kAbort:
        return Abort(DecisionReason::kWorkerLost);
      case LossPolicy::kProceed:
        if (enough) return Tally(group, ballot);
        break;
      case LossPolicy::kSkip:
        break;
    }
    return Skip(DecisionReason::kWorkerLost);
  }

  const bool too_many = group.timeouts + 1 >= config.max_timeouts;
  Ending ending = Skip(DecisionReason::kTimeout);
  if (too_many || config.on_timeout == StragglerPolicy::kAbort) {
    ending = Abort(DecisionReason::kTimeout);
    ending.evicted = stragglers;
  } else if (config.on_timeout == StragglerPolicy::kProceed) {
    if (enough) {
      ending = Tally(group, ballot);
      ending.evicted = stragglers;
    }
  }
  return ending;
}

absl::Time StepDeadline(const GroupState& group, const Ballot& ballot) {
  if (!ballot.first_vote || group.config.on_timeout == StragglerPolicy::kWait) {
    return absl::InfiniteFuture();
  }
  return *ballot.first_vote + group.config.step_timeout;
}

}  // namespace lossscaler
