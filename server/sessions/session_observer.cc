// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/session_observer.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lossscaler::server {
namespace {

using Kind = WorkerChange::Kind;

const std::vector<Member>& MembersOf(const SessionState* state) {
  static const auto* const none = new std::vector<Member>;
  return state != nullptr && state->group ? state->group->members : *none;
}

// Why a live member is none any more.
Kind WhyGone(Cause cause, const Decision* decision, const Member& member) {
  if (cause == Cause::kJoin) return Kind::kReplaced;
  if (cause == Cause::kLeave || cause == Cause::kDelete) return Kind::kLeft;
  const bool evicted =
      decision != nullptr &&
      std::find(decision->evicted.begin(), decision->evicted.end(),
                member.worker) != decision->evicted.end();
  return evicted ? Kind::kEvicted : Kind::kExpired;
}

}  // namespace

std::string_view WorkerChangeName(Kind kind) {
  switch (kind) {
    case Kind::kJoined:
      return "joined";
    case Kind::kActivated:
      return "activated";
    case Kind::kLeft:
      return "left";
    case Kind::kExpired:
      return "expired";
    case Kind::kReplaced:
      return "replaced";
    case Kind::kEvicted:
      return "evicted";
  }
  return "";
}

std::vector<WorkerChange> WorkerChangesOf(Cause cause,
                                          const SessionState* before,
                                          const SessionState* after,
                                          const Decision* decision) {
  const std::vector<Member>& old_members = MembersOf(before);
  const std::vector<Member>& new_members = MembersOf(after);
  std::vector<WorkerChange> changes;
  const auto note = [&changes](Kind kind, const Member& member) {
    changes.push_back({.kind = kind,
                       .worker = member.worker,
                       .incarnation = member.incarnation});
  };
  // Both are by incarnation.
  auto now = new_members.begin();
  const auto note_joined_below = [&](std::int64_t incarnation) {
    for (; now != new_members.end() && now->incarnation < incarnation; ++now) {
      if (!IsLive(*now)) continue;
      note(Kind::kJoined, *now);
      if (now->state == MemberState::kActive) note(Kind::kActivated, *now);
    }
  };
  for (const Member& was : old_members) {
    note_joined_below(was.incarnation);
    const bool stays =
        now != new_members.end() && now->incarnation == was.incarnation;
    const bool lives = stays && IsLive(*now);
    if (IsLive(was) && !lives) note(WhyGone(cause, decision, was), was);
    if (lives && was.state == MemberState::kPending &&
        now->state == MemberState::kActive) {
      note(Kind::kActivated, *now);
    }
    if (stays) ++now;
  }
  note_joined_below(std::numeric_limits<std::int64_t>::max());
  return changes;
}

}  // namespace lossscaler::server
