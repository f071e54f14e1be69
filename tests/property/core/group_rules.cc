// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "property/core/group_rules.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "property/core/group_messages.h"

namespace lossscaler::simulation {
namespace {

const Member* Find(const SessionState& state, std::int64_t incarnation) {
  for (const Member& member : state.group->members) {
    if (member.incarnation == incarnation) return &member;
  }
  return nullptr;
}

// Whose votes the open step, or the next one to open, waits for.
std::set<std::int64_t> RosterOf(const SessionState& state) {
  std::set<std::int64_t> roster;
  for (const Member& member : state.group->members) {
    if (member.state != MemberState::kPending) {
      roster.insert(member.incarnation);
    }
  }
  return roster;
}

bool Names(const std::vector<std::string>& names, const std::string& name) {
  return std::count(names.begin(), names.end(), name) > 0;
}

bool HasVoteOf(const Decision& decision, std::int64_t incarnation) {
  return std::any_of(
      decision.votes.begin(), decision.votes.end(),
      [&](const Vote& vote) { return vote.incarnation == incarnation; });
}

}  // namespace

void GroupRules::Taken(std::int64_t step, const Vote& vote) {
  const auto [entry, fresh] =
      taken_.try_emplace({step, vote.incarnation}, vote);
  Require(SameVote(entry->second, vote), "two different votes were taken");
}

void GroupRules::Written(const SessionState& before, const Change& change) {
  CheckState(before, change);
  CheckScale(before, change);
  if (!change.decision) return;
  const Decision& decision = *change.decision;
  Require(journal_.emplace(decision.step, decision).second,
          absl::StrCat("step ", decision.step, " is decided twice"));
  CheckVotes(before, decision);
  if (!decision.apply()) return;
  ++applied_;
  CheckApply(before, decision);
}

void GroupRules::CheckState(const SessionState& before,
                            const Change& change) const {
  const SessionState& after = change.state;
  Require(after.revision == before.revision + 1, "a revision is missing");
  const bool restored =
      change.decision && change.decision->reason == DecisionReason::kRestored;
  const bool news = restored || RosterOf(before) != RosterOf(after);
  Require(after.epoch == before.epoch + (news ? 1 : 0),
          "the epoch does not rise with the roster and with restores alone");
  Require(after.group->attempt >= before.group->attempt, "the attempt fell");
  Require(after.group->next_incarnation >= before.group->next_incarnation,
          "an incarnation may come again");
  Require(after.step == before.step + (change.decision ? 1 : 0),
          "a step is not one decision");
  if (!change.decision) {
    Require(after.base == before.base, "the base moved without a decision");
    return;
  }
  Require(change.decision->step == before.step, "another step was decided");
  Require(change.decision->epoch_after == after.epoch, "wrong epoch_after");
  Require(change.decision->base_after == after.base, "wrong base_after");
}

void GroupRules::CheckVotes(const SessionState& before,
                            const Decision& decision) const {
  const Base base{before.base_session_uid(), before.base};
  bool overflow = false;
  for (const Vote& vote : decision.votes) {
    const Member* member = Find(before, vote.incarnation);
    Require(member != nullptr && member->state != MemberState::kPending,
            "a vote from outside the roster counts");
    const auto taken = taken_.find({decision.step, vote.incarnation});
    Require(taken != taken_.end() && SameVote(taken->second, vote),
            "a vote counts that was not taken");
    overflow = overflow || vote.resolved == Verdict::kOverflow;
    if (vote.scale_used) {
      Require(*vote.scale_used == before.scaler.scale(), "wrong scale counts");
    }
    if (vote.resolved == Verdict::kAbstain) continue;
    const Base stands{
        vote.base_session_uid.empty() ? before.uid : vote.base_session_uid,
        vote.base.value_or(-1)};
    Require(stands == base, "a vote on another base counts");
  }
  Require(!overflow || decision.outcome == Outcome::kSkipOverflow,
          "a recorded OVERFLOW did not win");
}

void GroupRules::CheckApply(const SessionState& before,
                            const Decision& decision) const {
  std::set<std::int64_t> iterations;
  for (const Vote& vote : decision.votes) {
    Require(
        vote.resolved == Verdict::kFinite || vote.resolved == Verdict::kAbstain,
        "applied against a vote");
    if (vote.resolved == Verdict::kFinite && vote.iteration) {
      iterations.insert(*vote.iteration);
    }
  }
  Require(iterations.size() <= 1, "different batches were applied");
  const GroupConfig& config = before.group->config;
  for (const Member& member : before.group->members) {
    if (member.state == MemberState::kPending ||
        HasVoteOf(decision, member.incarnation)) {
      continue;
    }
    const bool left =
        member.state == MemberState::kLeft && !member.left_after_voting;
    const bool lost = config.on_loss == LossPolicy::kProceed &&
                      Names(decision.lost, member.worker);
    const bool evicted = config.on_timeout == StragglerPolicy::kProceed &&
                         Names(decision.evicted, member.worker);
    Require(left || lost || evicted,
            absl::StrCat("applied without the vote of ", member.worker));
  }
}

void GroupRules::CheckScale(const SessionState& before,
                            const Change& change) const {
  LossScaler expected = before.scaler;
  if (change.decision) {
    const Decision& decision = *change.decision;
    Require(decision.scale_before == before.scaler.scale(), "scale_before");
    Require(decision.scale_after == change.state.scaler.scale(), "scale_after");
    if (decision.reason == DecisionReason::kRestored) return;
    if (decision.apply()) expected.Update(false);
    if (decision.outcome == Outcome::kSkipOverflow) expected.Update(true);
  }
  Require(change.state.scaler == expected,
          "the scale is no function of the outcomes");
}

}  // namespace lossscaler::simulation
