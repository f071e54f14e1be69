// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/group_draft.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/ending_text.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {
namespace {

std::set<std::int64_t> RosterOf(const GroupState& group) {
  std::set<std::int64_t> roster;
  for (const Member& member : group.members) {
    if (member.state != MemberState::kPending)
      roster.insert(member.incarnation);
  }
  return roster;
}

std::int64_t LiveCount(const GroupState& group) {
  return std::count_if(group.members.begin(), group.members.end(), IsLive);
}

// Of all voters that applied; nothing if one of them did not say.
std::optional<double> SumOfSquares(const Ballot& ballot) {
  double sum = 0;
  for (const auto& [incarnation, vote] : ballot.votes) {
    if (vote.resolved == Verdict::kAbstain) continue;
    if (!vote.sum_of_squares) return std::nullopt;
    sum += *vote.sum_of_squares;
  }
  return sum;
}

}  // namespace

std::vector<PresentedCheckpoint> PresentedCheckpoints(const GroupState& group) {
  std::vector<PresentedCheckpoint> presented;
  for (const Member& member : group.members) {
    if (!IsLive(member) || !member.checkpoint) continue;
    auto same = std::find_if(presented.begin(), presented.end(),
                             [&](const auto& other) {
                               return other.checkpoint == *member.checkpoint;
                             });
    if (same == presented.end()) {
      same = presented.insert(presented.end(), {*member.checkpoint, {}});
    }
    same->holders.push_back(member.worker);
  }
  return presented;
}

bool CanOpen(const GroupState& group) {
  return !group.open && LiveCount(group) >= group.config.min_workers &&
         PresentedCheckpoints(group).size() <= 1;
}

GroupDraft::GroupDraft(const SessionState& before, const Ballot& ballot,
                       absl::Time wall)
    : before_(before), ballot_(ballot), wall_(wall), state_(before) {}

template <typename Gone>
void GroupDraft::Remove(Gone gone) {
  GroupState& group = group_ref();
  for (const Member& member : group.members) {
    if (!gone(member)) continue;
    group.departed.push_back({.worker = member.worker,
                              .join_request_id = member.join_request_id,
                              .incarnation = member.incarnation});
    if (group.departed.size() > kDepartedKept) group.departed.pop_front();
  }
  std::erase_if(group.members, gone);
}

void GroupDraft::Lose(std::int64_t incarnation) {
  for (Member& member : group_ref().members) {
    if (member.incarnation != incarnation) continue;
    if (group().open && member.state == MemberState::kActive) {
      member.state = MemberState::kLost;
      return;
    }
  }
  Remove([&](const Member& member) {
    return member.incarnation == incarnation && IsLive(member);
  });
}

void GroupDraft::LoseWorker(std::string_view worker) {
  for (const Member& member : group().members) {
    if (member.worker == worker && IsLive(member)) {
      // The list changes; a name has at most one live member.
      return Lose(member.incarnation);
    }
  }
}

void GroupDraft::Leave(std::int64_t incarnation) {
  for (Member& member : group_ref().members) {
    if (member.incarnation != incarnation) continue;
    if (group().open && member.state == MemberState::kActive) {
      member.state = MemberState::kLeft;
      member.left_after_voting = ballot_.votes.contains(incarnation);
      return;
    }
  }
  Remove([&](const Member& member) {
    return member.incarnation == incarnation && IsLive(member);
  });
}

std::int64_t GroupDraft::Add(Member member) {
  GroupState& group = group_ref();
  member.incarnation = group.next_incarnation++;
  member.state = group.open ? MemberState::kPending : MemberState::kActive;
  group.members.push_back(std::move(member));
  return group.members.back().incarnation;
}

void GroupDraft::Present(std::int64_t incarnation, Checkpoint checkpoint) {
  for (Member& member : group_ref().members) {
    if (member.incarnation == incarnation) {
      member.checkpoint = std::move(checkpoint);
      return;
    }
  }
}

void GroupDraft::BeginAttempt(std::int64_t attempt) {
  GroupState& group = group_ref();
  if (group.open) {
    const bool overflow = std::any_of(
        ballot_.votes.begin(), ballot_.votes.end(), [](const auto& entry) {
          return entry.second.resolved == Verdict::kOverflow;
        });
    Ending ending{.outcome = Outcome::kAborted,
                  .reason = DecisionReason::kNewAttempt};
    if (overflow) {
      ending = {.outcome = Outcome::kSkipOverflow,
                .reason = DecisionReason::kOverflow,
                .overflow = true};
    }
    Decide(ending);
  }
  Remove([](const Member&) { return true; });
  group.open = false;
  group.attempt = attempt;
}

void GroupDraft::Decide(const Ending& ending) {
  Decision decision = OpenDecision(state_, wall_);
  decision.outcome = ending.outcome;
  decision.reason = ending.reason;
  decision.overflow = ending.overflow;
  decision.parts = ending.parts;
  decision.next_iteration = ending.next_iteration;
  for (const auto& [incarnation, vote] : ballot_.votes) {
    decision.votes.push_back(vote);
  }
  for (const Member& member : group().members) {
    const bool voted = ballot_.votes.contains(member.incarnation);
    if (member.state == MemberState::kPending || voted) continue;
    if (std::count(ending.evicted.begin(), ending.evicted.end(),
                   member.incarnation) > 0) {
      decision.evicted.push_back(member.worker);
    } else if (member.state == MemberState::kLost || member.left_after_voting) {
      decision.lost.push_back(member.worker);
    }
  }
  ScalerUpdate update;
  if (ending.overflow || ending.outcome == Outcome::kApply) {
    update = state_.scaler.Update(ending.overflow);
    decision.scale_after = update.scale_after;
    decision.saturated = update.saturated;
    decision.floored = update.floored;
    decision.stalled = update.stalled;
  } else {
    update.scale_before = update.scale_after = decision.scale_before;
  }
  if (ending.outcome == Outcome::kApply) {
    decision.base_after = state_.step;
    decision.base_after_session_uid.clear();
    decision.sum_of_squares = SumOfSquares(ballot_);
  }
  decision.explanation = ExplainEnding(decision, update);
  decision_ = MoveBeyond(&state_, std::move(decision));
}

void GroupDraft::End(const Ending& ending) {
  Decide(ending);
  GroupState& group = group_ref();
  const bool by_time =
      ending.reason == DecisionReason::kTimeout || !ending.evicted.empty();
  group.timeouts = by_time ? group.timeouts + 1 : 0;
  CrossBoundary(ending.evicted);
}

void GroupDraft::CrossBoundary(const std::vector<std::int64_t>& evicted) {
  GroupState& group = group_ref();
  Remove([&](const Member& member) {
    return !IsLive(member) ||
           std::count(evicted.begin(), evicted.end(), member.incarnation) > 0;
  });
  for (Member& member : group.members) {
    member.state = MemberState::kActive;
  }
  group.open = LiveCount(group) >= group.config.min_workers;
  if (!group.open) return;
  for (Member& member : group.members) member.checkpoint.reset();
}

void GroupDraft::Open() {
  GroupState& group = group_ref();
  const std::vector<PresentedCheckpoint> presented =
      PresentedCheckpoints(group);
  if (presented.size() == 1 &&
      presented.front().holders.size() == group.members.size()) {
    const Checkpoint& checkpoint = presented.front().checkpoint;
    const Base base{state_.base_session_uid(), state_.base};
    if (checkpoint.scaler != state_.scaler || checkpoint.base != base) {
      Decision decision = OpenDecision(state_, wall_);
      decision.outcome = Outcome::kAborted;
      decision.reason = DecisionReason::kRestored;
      decision.scale_after = checkpoint.scaler.scale();
      decision.base_after = checkpoint.base.step;
      decision.base_after_session_uid =
          checkpoint.base.session_uid == state_.uid
              ? ""
              : checkpoint.base.session_uid;
      decision.explanation = absl::StrCat(
          "ended by a restore: every worker has loaded one checkpoint, with "
          "base ",
          checkpoint.base.step, "; scale ", NumberText(decision.scale_before),
          " -> ", NumberText(decision.scale_after));
      state_.scaler = checkpoint.scaler;
      state_.consecutive_skips = 0;
      decision_ = MoveBeyond(&state_, std::move(decision));
      restored_ = true;
    }
  }
  group.open = true;
  group.timeouts = 0;
  for (Member& member : group.members) member.checkpoint.reset();
}

void GroupDraft::Restore(const LossScaler& scaler,
                         const std::string& request_id) {
  Decision decision = OpenDecision(state_, wall_);
  decision.outcome = Outcome::kAborted;
  decision.reason = DecisionReason::kRestored;
  decision.scale_after = scaler.scale();
  decision.base_after = state_.step;
  decision.base_after_session_uid.clear();
  decision.request_id = request_id;
  decision.explanation = absl::StrCat("ended by a restore; scale ",
                                      NumberText(decision.scale_before), " -> ",
                                      NumberText(decision.scale_after));
  state_.scaler = scaler;
  state_.consecutive_skips = 0;
  decision_ = MoveBeyond(&state_, std::move(decision));
  restored_ = true;
  if (group().open) CrossBoundary({});
}

Change GroupDraft::Finish() && {
  if (restored_ || RosterOf(*before_.group) != RosterOf(group())) {
    ++state_.epoch;
  }
  state_.revision = before_.revision + 1;
  if (decision_) decision_->epoch_after = state_.epoch;
  return {std::move(state_), std::move(decision_)};
}

}  // namespace lossscaler
