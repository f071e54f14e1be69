// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What only group sessions have, between lossscaler/core and lossscaler.v1; the
// rules of convert.h hold here too.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_WIRE_GROUP_CONVERT_H_
#define LOSSSCALER_WIRE_GROUP_CONVERT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/degraded.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/membership.h"
#include "lossscaler/v1/group.pb.h"
#include "lossscaler/v1/loss_scaler_service.pb.h"

namespace lossscaler::wire {

// Every field set.
void ToProto(const GroupConfig& config, v1::GroupConfig* proto);
// Unset fields have their defaults; min_workers has max_workers'. INVALID_GROUP
// if an enumerator is unknown or ValidateGroupConfig() refuses it.
absl::StatusOr<GroupConfig> GroupConfigFromProto(const v1::GroupConfig& proto);

void ToProto(const Base& base, v1::Base* proto);
// INVALID_FIELD for a step below 0, a uid that no session can have, or a step
// above 0 of no session.
absl::StatusOr<Base> BaseFromProto(const v1::Base& proto);

void ToProto(const Checkpoint& checkpoint, v1::Checkpoint* proto);
// INVALID_SCALER, and what BaseFromProto() refuses. Whether it fits a session
// is core's business.
absl::StatusOr<Checkpoint> CheckpointFromProto(const v1::Checkpoint& proto);

v1::WorkerState ToProto(MemberState state);
// INVALID_FIELD if the state is unset or unknown.
absl::StatusOr<MemberState> MemberStateFromProto(v1::WorkerState state);

v1::GroupPhase ToProto(GroupPhase phase);
// INVALID_FIELD if the phase is unset or unknown.
absl::StatusOr<GroupPhase> GroupPhaseFromProto(v1::GroupPhase phase);

// Tokens and request ids stay with the server.
void ToProto(const MemberView& view, v1::Worker* proto);
absl::StatusOr<MemberView> MemberViewFromProto(const v1::Worker& proto);

void ToProto(const Degraded& degraded, v1::Degraded* proto);
Degraded DegradedFromProto(const v1::Degraded& proto);

void ToProto(const Membership& membership, v1::Membership* proto);
// INVALID_FIELD if state or phase is unset or unknown.
absl::StatusOr<Membership> MembershipFromProto(const v1::Membership& proto);

// Who is asking, as v1::ParticipateOpen, v1::LeaveSessionRequest,
// v1::UpdateRequest and v1::UnscaleOpen say it. INVALID_FIELD for a name that
// no worker can have, or an incarnation below 1.
absl::StatusOr<WorkerRef> WorkerRefOf(std::string_view worker,
                                      std::int64_t incarnation);

// A join, without the session and, on the way in, without the new token.
void JoinToRequest(const JoinEvent& event, v1::JoinSessionRequest* request);
// What CheckpointFromProto() refuses, and INVALID_FIELD for a resume token that
// no worker was given.
absl::StatusOr<JoinEvent> JoinFromRequest(
    const v1::JoinSessionRequest& request);

}  // namespace lossscaler::wire

#endif  // LOSSSCALER_WIRE_GROUP_CONVERT_H_
