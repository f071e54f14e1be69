// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/group_convert.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/enum_convert.h"
#include "lossscaler/wire/status.h"

namespace lossscaler::wire {

void ToProto(const GroupConfig& config, v1::GroupConfig* proto) {
  proto->Clear();
  proto->set_min_workers(config.min_workers);
  proto->set_max_workers(config.max_workers);
  *proto->mutable_lease_ttl() = ToProto(config.lease_ttl);
  *proto->mutable_step_timeout() = ToProto(config.step_timeout);
  proto->set_on_loss(EnumToProto<v1::LossPolicy>(config.on_loss));
  proto->set_on_timeout(EnumToProto<v1::StragglerPolicy>(config.on_timeout));
  proto->set_max_timeouts(config.max_timeouts);
  proto->set_no_early_decision(!config.early_decision);
  proto->set_parts(EnumToProto<v1::PartPolicy>(config.parts));
  proto->set_degraded_skips(config.degraded_skips);
}

absl::StatusOr<GroupConfig> GroupConfigFromProto(const v1::GroupConfig& proto) {
  GroupConfig config;
  config.max_workers = proto.max_workers();
  config.min_workers =
      proto.has_min_workers() ? proto.min_workers() : proto.max_workers();
  if (proto.has_lease_ttl()) {
    config.lease_ttl = DurationFromProto(proto.lease_ttl());
  }
  if (proto.has_step_timeout()) {
    config.step_timeout = DurationFromProto(proto.step_timeout());
  }
  if (proto.has_max_timeouts()) config.max_timeouts = proto.max_timeouts();
  config.early_decision = !proto.no_early_decision();
  if (proto.has_degraded_skips()) {
    config.degraded_skips = proto.degraded_skips();
  }
  absl::Status status =
      EnumFromProto(proto.on_loss(), v1::LossPolicy_IsValid(proto.on_loss()),
                    Reason::kInvalidGroup, "on_loss", &config.on_loss);
  status.Update(EnumFromProto(
      proto.on_timeout(), v1::StragglerPolicy_IsValid(proto.on_timeout()),
      Reason::kInvalidGroup, "on_timeout", &config.on_timeout));
  status.Update(EnumFromProto(proto.parts(),
                              v1::PartPolicy_IsValid(proto.parts()),
                              Reason::kInvalidGroup, "parts", &config.parts));
  status.Update(ValidateGroupConfig(config));
  if (!status.ok()) return status;
  return config;
}

void ToProto(const Base& base, v1::Base* proto) {
  proto->set_session_uid(base.session_uid);
  proto->set_step(base.step);
}

absl::StatusOr<Base> BaseFromProto(const v1::Base& proto) {
  if (proto.step() < 0) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("base.step is ", proto.step(),
                     "; name the last applied or restored step "
                     "that the parameters contain, or 0"),
        {{"field", "base.step"}, {"value", absl::StrCat(proto.step())}});
  }
  if (proto.step() > 0 || !proto.session_uid().empty()) {
    if (absl::Status status =
            ValidateId("base.session_uid", proto.session_uid());
        !status.ok()) {
      return status;
    }
  }
  return Base{.session_uid = proto.session_uid(), .step = proto.step()};
}

void ToProto(const Checkpoint& checkpoint, v1::Checkpoint* proto) {
  proto->Clear();
  ToProto(checkpoint.scaler, proto->mutable_scaler());
  ToProto(checkpoint.base, proto->mutable_base());
  if (checkpoint.iteration) proto->set_iteration(*checkpoint.iteration);
}

absl::StatusOr<Checkpoint> CheckpointFromProto(const v1::Checkpoint& proto) {
  absl::StatusOr<LossScaler> scaler = LossScalerFromProto(proto.scaler());
  if (!scaler.ok()) return scaler.status();
  absl::StatusOr<Base> base = BaseFromProto(proto.base());
  if (!base.ok()) return base.status();
  Checkpoint checkpoint{.scaler = *std::move(scaler), .base = *std::move(base)};
  if (proto.has_iteration()) checkpoint.iteration = proto.iteration();
  return checkpoint;
}

v1::WorkerState ToProto(MemberState state) {
  return EnumToProto<v1::WorkerState>(state);
}

absl::StatusOr<MemberState> MemberStateFromProto(v1::WorkerState state) {
  MemberState result = MemberState::kPending;
  absl::Status status = SetEnumFromProto(state, v1::WorkerState_IsValid(state),
                                         "worker state", &result);
  if (!status.ok()) return status;
  return result;
}

v1::GroupPhase ToProto(GroupPhase phase) {
  return EnumToProto<v1::GroupPhase>(phase);
}

absl::StatusOr<GroupPhase> GroupPhaseFromProto(v1::GroupPhase phase) {
  GroupPhase result = GroupPhase::kIdle;
  absl::Status status =
      SetEnumFromProto(phase, v1::GroupPhase_IsValid(phase), "phase", &result);
  if (!status.ok()) return status;
  return result;
}

void ToProto(const MemberView& view, v1::Worker* proto) {
  proto->Clear();
  proto->set_worker(view.member.worker);
  proto->set_incarnation(view.member.incarnation);
  proto->set_state(ToProto(view.member.state));
  *proto->mutable_lease_left() = ToProto(view.lease_left);
  if (view.vote) ToProto(*view.vote, proto->mutable_vote());
  if (view.member.checkpoint) {
    ToProto(*view.member.checkpoint, proto->mutable_checkpoint());
  }
  if (view.late_overflow) proto->set_late_overflow(*view.late_overflow);
}

absl::StatusOr<MemberView> MemberViewFromProto(const v1::Worker& proto) {
  MemberView view;
  view.member.worker = proto.worker();
  view.member.incarnation = proto.incarnation();
  absl::StatusOr<MemberState> state = MemberStateFromProto(proto.state());
  if (!state.ok()) return state.status();
  view.member.state = *state;
  view.lease_left = DurationFromProto(proto.lease_left());
  if (proto.has_vote()) {
    absl::StatusOr<Vote> vote = VoteFromProto(proto.vote());
    if (!vote.ok()) return vote.status();
    view.vote = *std::move(vote);
  }
  if (proto.has_checkpoint()) {
    absl::StatusOr<Checkpoint> checkpoint =
        CheckpointFromProto(proto.checkpoint());
    if (!checkpoint.ok()) return checkpoint.status();
    view.member.checkpoint = *std::move(checkpoint);
  }
  if (proto.has_late_overflow()) view.late_overflow = proto.late_overflow();
  return view;
}

void ToProto(const Degraded& degraded, v1::Degraded* proto) {
  proto->Clear();
  proto->set_reason(degraded.reason);
  for (const std::string& worker : degraded.workers) proto->add_workers(worker);
}

Degraded DegradedFromProto(const v1::Degraded& proto) {
  return {.reason = proto.reason(),
          .workers = {proto.workers().begin(), proto.workers().end()}};
}

void ToProto(const Membership& membership, v1::Membership* proto) {
  proto->Clear();
  proto->set_state(ToProto(membership.state));
  proto->set_phase(ToProto(membership.phase));
  ToProto(membership.current, proto->mutable_current());
  if (!membership.closed.ok()) {
    ToProto(membership.closed, proto->mutable_closed());
  }
}

absl::StatusOr<Membership> MembershipFromProto(const v1::Membership& proto) {
  absl::StatusOr<MemberState> state = MemberStateFromProto(proto.state());
  if (!state.ok()) return state.status();
  absl::StatusOr<GroupPhase> phase = GroupPhaseFromProto(proto.phase());
  if (!phase.ok()) return phase.status();
  return Membership{.state = *state,
                    .phase = *phase,
                    .current = CurrentFromProto(proto.current()),
                    .closed = StatusFromProto(proto.closed())};
}

absl::StatusOr<WorkerRef> WorkerRefOf(std::string_view worker,
                                      std::int64_t incarnation) {
  if (absl::Status status = ValidateId("worker", worker); !status.ok()) {
    return status;
  }
  if (incarnation < 1) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("incarnation is ", incarnation,
                     "; send the one that JoinSession has answered"),
        {{"field", "incarnation"}, {"value", absl::StrCat(incarnation)}});
  }
  return WorkerRef{.worker = std::string(worker), .incarnation = incarnation};
}

void JoinToRequest(const JoinEvent& event, v1::JoinSessionRequest* request) {
  request->set_worker(event.worker);
  request->set_request_id(event.request_id);
  request->set_resume_token(event.resume_token);
  request->set_attempt(event.attempt);
  if (event.checkpoint) {
    ToProto(*event.checkpoint, request->mutable_checkpoint());
  }
}

absl::StatusOr<JoinEvent> JoinFromRequest(
    const v1::JoinSessionRequest& request) {
  JoinEvent event;
  event.worker = request.worker();
  event.request_id = request.request_id();
  event.attempt = request.attempt();
  if (!request.resume_token().empty()) {
    if (absl::Status status =
            ValidateId("resume_token", request.resume_token());
        !status.ok()) {
      return status;
    }
    event.resume_token = request.resume_token();
  }
  if (request.has_checkpoint()) {
    absl::StatusOr<Checkpoint> checkpoint =
        CheckpointFromProto(request.checkpoint());
    if (!checkpoint.ok()) return checkpoint.status();
    event.checkpoint = *std::move(checkpoint);
  }
  return event;
}

}  // namespace lossscaler::wire
