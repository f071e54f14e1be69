// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A group session as values: how it is configured, who belongs to it, what is
// kept of it between two steps.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CORE_GROUP_H_
#define LOSSSCALER_CORE_GROUP_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

// What ends a step in which a member was lost before it had voted.
enum class LossPolicy {
  // Everyone skips it, without penalty.
  kSkip,
  // It is decided over the others, if min_workers of them vote.
  kProceed,
  // It is aborted.
  kAbort,
};

// What ends a step that stays open longer than step_timeout.
enum class StragglerPolicy {
  // Everyone skips it, without penalty.
  kSkip,
  // Nothing: it waits for the last member.
  kWait,
  // It is aborted, and who has not voted is no member any more.
  kAbort,
  // Who has not voted is no member any more; it is decided over the others, if
  // min_workers of them have voted.
  kProceed,
};

// What an overflow in one part of the gradients (an optimizer, a loss) means.
enum class PartPolicy {
  // No part is applied.
  kAll,
  // Only that part is not applied; a step is decided when all have voted.
  kEach,
};

// "SKIP" and so on, as in the proto without the prefix.
std::string_view LossPolicyName(LossPolicy policy);
std::string_view StragglerPolicyName(StragglerPolicy policy);
std::string_view PartPolicyName(PartPolicy policy);

inline constexpr absl::Duration kMinLeaseTtl = absl::Seconds(5);
inline constexpr absl::Duration kMaxLeaseTtl = absl::Hours(1);
inline constexpr absl::Duration kMinStepTimeout = absl::Seconds(1);
inline constexpr absl::Duration kMaxStepTimeout = absl::Hours(24);
inline constexpr std::int64_t kMaxWorkers = 4096;
inline constexpr std::size_t kMaxParts = 64;

// Skips in a row from which on a session is degraded, unless it says otherwise.
inline constexpr std::int64_t kDegradedSkips = 50;

// How a group behaves. Never changes.
struct GroupConfig {
  // A step is open while at least min_workers are members. Both in
  // [1, kMaxWorkers], min_workers <= max_workers. Equal unless the group is
  // elastic.
  std::int64_t min_workers = 1;
  std::int64_t max_workers = 1;
  // How long a member may be silent. In [kMinLeaseTtl, kMaxLeaseTtl].
  absl::Duration lease_ttl = absl::Seconds(30);
  // How long a step may stay open after its first vote. In [kMinStepTimeout,
  // kMaxStepTimeout].
  absl::Duration step_timeout = absl::Minutes(10);
  LossPolicy on_loss = LossPolicy::kSkip;
  StragglerPolicy on_timeout = StragglerPolicy::kSkip;
  // This many timeouts in a row, and more, are StragglerPolicy::kAbort (but
  // not under kWait). > 0.
  std::int64_t max_timeouts = 3;
  // Whether the first OVERFLOW decides the step without waiting for the other
  // votes. Has no effect with PartPolicy::kEach.
  bool early_decision = true;
  PartPolicy parts = PartPolicy::kAll;
  // Skips in a row from which on the session is degraded (rule R12). > 0.
  std::int64_t degraded_skips = kDegradedSkips;

  friend bool operator==(const GroupConfig&, const GroupConfig&) = default;
};

// INVALID_GROUP names the field, its value and what is allowed.
absl::Status ValidateGroupConfig(const GroupConfig& config);

// A step that parameters contain: the last APPLY or RESTORED one.
struct Base {
  // The session that decided the step.
  std::string session_uid;
  // 0: the initial parameters, of whichever session.
  std::int64_t step = 0;

  friend bool operator==(const Base& a, const Base& b) {
    return a.step == b.step && (a.step == 0 || a.session_uid == b.session_uid);
  }
};

// What a worker loaded before it joined.
struct Checkpoint {
  LossScaler scaler;
  Base base;
  std::optional<std::int64_t> iteration;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

enum class MemberState {
  // Becomes active with the next step.
  kPending,
  kActive,
  // Left during the step; a vote that it has not given counts as ABSTAIN.
  kLeft,
  // Expired or taken over during the step (rule R8).
  kLost,
};

std::string_view MemberStateName(MemberState state);

struct Member {
  std::string worker;
  // Registration number, unique in the session's life. Who joins again under
  // one name gets another.
  std::int64_t incarnation = 0;
  // Shown by a successor that takes this member's place.
  std::string resume_token;
  std::string join_request_id;
  MemberState state = MemberState::kPending;
  // kLeft with its vote recorded: if that vote is lost in a restart, the member
  // is lost rather than abstaining.
  bool left_after_voting = false;
  // What it presented and no opening has dropped yet.
  std::optional<Checkpoint> checkpoint;

  friend bool operator==(const Member&, const Member&) = default;
};

// Whether it may act: neither left nor lost.
inline bool IsLive(const Member& member) {
  return member.state == MemberState::kPending ||
         member.state == MemberState::kActive;
}

// The one with that incarnation; null: none. `members` are by incarnation.
const Member* FindMember(const std::vector<Member>& members,
                         std::int64_t incarnation);

// The last member of a name that is gone, kept so that its repeated join is
// FENCED rather than a new one.
struct Departed {
  std::string worker;
  std::string join_request_id;
  std::int64_t incarnation = 0;

  friend bool operator==(const Departed&, const Departed&) = default;
};
// They are written with every decision.
inline constexpr std::size_t kDepartedKept = 256;

// What a group session keeps besides the scaler, the step and the base.
struct GroupState {
  GroupConfig config;
  // By incarnation. While no step is open all are kActive.
  std::vector<Member> members;
  std::int64_t next_incarnation = 1;
  // The start of the whole job that the members belong to.
  std::int64_t attempt = 0;
  // Whether votes are taken: the roster of the next decision is fixed, and is
  // every member that is not kPending.
  bool open = false;
  // Steps in a row that step_timeout ended.
  std::int64_t timeouts = 0;
  // Of this attempt, one of each name, oldest first.
  std::deque<Departed> departed;
  // Decisions may be lost; see PassOverLost(). A restore clears it.
  bool restore_required = false;

  friend bool operator==(const GroupState&, const GroupState&) = default;
};

// Whether votes are taken, and why not.
enum class GroupPhase {
  // Nobody is in.
  kIdle,
  // Fewer than min_workers are in.
  kPaused,
  // Members have loaded different checkpoints.
  kCheckpointMismatch,
  kOpen,
  // Decisions may be lost, and nobody has said yet where the session stands.
  kRestoreRequired,
};

std::string_view GroupPhaseName(GroupPhase phase);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_GROUP_H_
