// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/group_draft.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/ending_text.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "lossscaler/core/number_text.h"
#include "lossscaler/core/step_end.h"

namespace lossscaler {
namespace {

std::set<std::int64_t> RosterOf(const GroupState& group) {
  std::set<std::int64_t> roster;
  for (const Member& member : group.members) {
    if (member.state != MemberState::kPending) {
      roster.insert(member.incarnation);
    }
  }
  return roster;
}

std::int64_t LiveCount(const GroupState& group) {
  return std::count_if(group.members.begin(), group.members.end(), IsLive);
}

// Of all parts that apply; nothing if one voter did not say.
std::optional<double> SumOfParts(const std::vector<PartOutcome>& parts) {
  double sum = 0;
  for (const PartOutcome& part : parts) {
    if (!part.apply) continue;
    if (!part.sum_of_squares) return std::nullopt;
    sum += *part.sum_of_squares;
  }
  return sum;
}

// Of a vote, or of all its parts; nothing if it does not say.
std::optional<double> SumOf(const Vote& vote) {
  if (vote.sum_of_squares || vote.parts.empty()) return vote.sum_of_squares;
  double sum = 0;
  for (const PartVote& part : vote.parts) {
    if (!part.sum_of_squares) return std::nullopt;
    sum += *part.sum_of_squares;
  }
  return sum;
}

// Of all voters that have gradients; nothing if one of them did not say.
std::optional<double> SumOfVotes(const Ballot& ballot) {
  double sum = 0;
  for (const auto& [incarnation, vote] : ballot.votes) {
    if (vote.resolved == Verdict::kAbstain) continue;
    const std::optional<double> own = SumOf(vote);
    if (!own) return std::nullopt;
    sum += *own;
  }
  return sum;
}

// Whether two members have presented different ones.
bool CheckpointsDiffer(const GroupState& group) {
  const Checkpoint* first = nullptr;
  for (const Member& member : group.members) {
    if (!IsLive(member) || !member.checkpoint) continue;
    if (first == nullptr) {
      first = &*member.checkpoint;
    } else if (*member.checkpoint != *first) {
      return true;
    }
  }
  return false;
}

// What every member of a closed session has presented; null: not all of them
// have, or not the same.
const Checkpoint* AgreedCheckpoint(const GroupState& group) {
  for (const Member& member : group.members) {
    if (!member.checkpoint) return nullptr;
  }
  if (group.members.empty() || CheckpointsDiffer(group)) return nullptr;
  return &*group.members.front().checkpoint;
}

// Text that is equal for equal checkpoints.
std::string KeyOf(const Checkpoint& checkpoint) {
  const Base& base = checkpoint.base;
  return absl::StrCat(
      ToJson(checkpoint.scaler), " ", base.step, " ",
      base.step == 0 ? "" : base.session_uid, " ",
      checkpoint.iteration ? absl::StrCat(*checkpoint.iteration) : "");
}

}  // namespace

std::vector<PresentedCheckpoint> PresentedCheckpoints(const GroupState& group) {
  std::vector<PresentedCheckpoint> presented;
  std::map<std::string, std::size_t> places;
  for (const Member& member : group.members) {
    if (!IsLive(member) || !member.checkpoint) continue;
    const auto [place, fresh] =
        places.try_emplace(KeyOf(*member.checkpoint), presented.size());
    if (fresh) presented.push_back({.checkpoint = *member.checkpoint});
    presented[place->second].holders.push_back(member.worker);
  }
  return presented;
}

bool CanOpen(const GroupState& group) {
  if (group.open || LiveCount(group) < group.config.min_workers) return false;
  return group.restore_required ? AgreedCheckpoint(group) != nullptr
                                : !CheckpointsDiffer(group);
}

GroupPhase PhaseOf(const GroupState& group) {
  if (group.open) return GroupPhase::kOpen;
  if (CheckpointsDiffer(group)) return GroupPhase::kCheckpointMismatch;
  if (group.restore_required) return GroupPhase::kRestoreRequired;
  return group.members.empty() ? GroupPhase::kIdle : GroupPhase::kPaused;
}

GroupDraft::GroupDraft(const SessionState& before, const Ballot& ballot,
                       absl::Time wall)
    : before_(before), ballot_(ballot), wall_(wall), state_(before) {}

template <typename Gone>
void GroupDraft::Remove(Gone gone) {
  GroupState& group = group_ref();
  for (const Member& member : group.members) {
    if (!gone(member)) continue;
    std::erase_if(group.departed, [&](const Departed& departed) {
      return departed.worker == member.worker;
    });
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
    for (Member& member : group.members) {
      if (member.state == MemberState::kActive) {
        member.state = MemberState::kLost;
      }
    }
    Decide(Abandon(ballot_, DecisionReason::kNewAttempt));
  }
  group.members.clear();
  // A call of a lower attempt is refused as such.
  group.departed.clear();
  group.open = false;
  group.attempt = attempt;
}

void GroupDraft::Decide(const Ending& ending) {
  Decision decision = OpenDecision(state_, wall_);
  decision.outcome = ending.outcome;
  decision.reason = ending.reason;
  decision.overflow = ending.overflow;
  decision.parts = PartOutcomes(ballot_, ending.outcome);
  decision.next_iteration = ending.next_iteration;
  for (const auto& [incarnation, vote] : ballot_.votes) {
    decision.votes.push_back(vote);
    std::string& uid = decision.votes.back().base_session_uid;
    if (uid == state_.uid) uid.clear();
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
    decision.sum_of_squares =
        decision.overflow ? SumOfParts(decision.parts) : SumOfVotes(ballot_);
  }
  decision.explanation = ExplainEnding(decision, update);
  decision_ = MoveBeyond(&state_, std::move(decision));
}

void GroupDraft::End(const Ending& ending) {
  Decide(ending);
  GroupState& group = group_ref();
  group.timeouts = ending.timed_out ? group.timeouts + 1 : 0;
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
  if (const Checkpoint* checkpoint = AgreedCheckpoint(group)) {
    const Base base{state_.base_session_uid(), state_.base};
    if (group.restore_required || checkpoint->scaler != state_.scaler ||
        checkpoint->base != base) {
      RestoreTo(checkpoint->scaler, checkpoint->base, "",
                absl::StrCat("; every worker has loaded one checkpoint, with "
                             "base ",
                             checkpoint->base.step));
    }
  }
  group.open = true;
  group.timeouts = 0;
  for (Member& member : group.members) member.checkpoint.reset();
}

void GroupDraft::Restore(const LossScaler& scaler,
                         const std::string& request_id) {
  RestoreTo(scaler, {.session_uid = state_.uid, .step = state_.step},
            request_id, "");
  GroupState& group = group_ref();
  group.timeouts = 0;
  if (group.open) CrossBoundary({});
}

void GroupDraft::RestoreTo(const LossScaler& scaler, const Base& base,
                           const std::string& request_id,
                           std::string_view why) {
  Decision decision = OpenDecision(state_, wall_);
  decision.outcome = Outcome::kAborted;
  decision.reason = DecisionReason::kRestored;
  decision.scale_after = scaler.scale();
  decision.base_after = base.step;
  const bool own = base.step == 0 || base.session_uid == state_.uid;
  decision.base_after_session_uid = own ? "" : base.session_uid;
  decision.request_id = request_id;
  decision.explanation =
      absl::StrCat("ended by a restore", std::string(why), "; scale ",
                   NumberText(decision.scale_before), " -> ",
                   NumberText(decision.scale_after));
  state_.scaler = scaler;
  state_.consecutive_skips = 0;
  group_ref().restore_required = false;
  decision_ = MoveBeyond(&state_, std::move(decision));
  restored_ = true;
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
