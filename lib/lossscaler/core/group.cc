// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/group.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

absl::Status Bad(std::string_view field, const std::string& value,
                 const std::string& expected) {
  return MakeError(Reason::kInvalidGroup,
                   absl::StrCat(std::string(field), " is ", value,
                                "; it must be ", expected),
                   {{"field", std::string(field)}, {"value", value}});
}

absl::Status CheckRange(std::string_view field, std::int64_t value,
                        std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Bad(field, absl::StrCat(value),
             absl::StrCat("from ", low, " to ", high));
}

absl::Status CheckRange(std::string_view field, absl::Duration value,
                        absl::Duration low, absl::Duration high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Bad(field, absl::FormatDuration(value),
             absl::StrCat("from ", absl::FormatDuration(low), " to ",
                          absl::FormatDuration(high)));
}

}  // namespace

absl::Status ValidateGroupConfig(const GroupConfig& config) {
  for (const absl::Status& status :
       {CheckRange("max_workers", config.max_workers, 1, kMaxWorkers),
        CheckRange("min_workers", config.min_workers, 1, config.max_workers),
        CheckRange("lease_ttl", config.lease_ttl, kMinLeaseTtl, kMaxLeaseTtl),
        CheckRange("step_timeout", config.step_timeout, kMinStepTimeout,
                   kMaxStepTimeout),
        CheckRange("max_timeouts", config.max_timeouts, 1, 1'000'000),
        CheckRange("degraded_skips", config.degraded_skips, 1, 1'000'000)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

const Member* FindMember(const std::vector<Member>& members,
                         std::int64_t incarnation) {
  const auto member =
      std::lower_bound(members.begin(), members.end(), incarnation,
                       [](const Member& one, std::int64_t wanted) {
                         return one.incarnation < wanted;
                       });
  const bool found =
      member != members.end() && member->incarnation == incarnation;
  return found ? &*member : nullptr;
}

std::string_view LossPolicyName(LossPolicy policy) {
  switch (policy) {
    case LossPolicy::kSkip:
      return "SKIP";
    case LossPolicy::kProceed:
      return "PROCEED";
    case LossPolicy::kAbort:
      return "ABORT";
  }
  return "UNKNOWN";
}

std::string_view StragglerPolicyName(StragglerPolicy policy) {
  switch (policy) {
    case StragglerPolicy::kSkip:
      return "SKIP";
    case StragglerPolicy::kWait:
      return "WAIT";
    case StragglerPolicy::kAbort:
      return "ABORT";
    case StragglerPolicy::kProceed:
      return "PROCEED";
  }
  return "UNKNOWN";
}

std::string_view PartPolicyName(PartPolicy policy) {
  switch (policy) {
    case PartPolicy::kAll:
      return "ALL";
    case PartPolicy::kEach:
      return "EACH";
  }
  return "UNKNOWN";
}

std::string_view MemberStateName(MemberState state) {
  switch (state) {
    case MemberState::kPending:
      return "PENDING";
    case MemberState::kActive:
      return "ACTIVE";
    case MemberState::kLeft:
      return "LEFT";
    case MemberState::kLost:
      return "LOST";
  }
  return "UNKNOWN";
}

std::string_view GroupPhaseName(GroupPhase phase) {
  switch (phase) {
    case GroupPhase::kIdle:
      return "IDLE";
    case GroupPhase::kPaused:
      return "PAUSED";
    case GroupPhase::kCheckpointMismatch:
      return "CHECKPOINT_MISMATCH";
    case GroupPhase::kOpen:
      return "OPEN";
    case GroupPhase::kRestoreRequired:
      return "RESTORE_REQUIRED";
  }
  return "UNKNOWN";
}

}  // namespace lossscaler
