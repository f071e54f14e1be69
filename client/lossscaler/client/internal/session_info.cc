// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/session_info.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/malformed_answer.h"
#include "lossscaler/client/internal/utf8.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::internal {
namespace {

absl::Status AddGroup(const v1::Session& proto, SessionInfo* info) {
  absl::StatusOr<GroupConfig> group = wire::GroupConfigFromProto(proto.group());
  if (!group.ok()) return group.status();
  info->group = *std::move(group);
  const absl::StatusOr<GroupPhase> phase =
      wire::GroupPhaseFromProto(proto.phase());
  if (!phase.ok()) return phase.status();
  info->phase = *phase;
  info->attempt = proto.attempt();
  for (const v1::Worker& worker : proto.workers()) {
    absl::StatusOr<MemberView> view = wire::MemberViewFromProto(worker);
    if (!view.ok()) return view.status();
    info->workers.push_back(*std::move(view));
  }
  if (proto.has_degraded()) {
    info->degraded = wire::DegradedFromProto(proto.degraded());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckText(std::string_view field, std::string_view text) {
  if (IsUtf8(text)) return absl::OkStatus();
  return MakeError(Reason::kInvalidField,
                   absl::StrCat(std::string(field), " is not UTF-8"),
                   {{"field", std::string(field)}});
}

absl::Status CheckSession(const SessionRef& session) {
  absl::Status status = ValidateSessionName(session.name);
  status.Update(CheckText("session_uid", session.uid));
  return status;
}

absl::StatusOr<SessionInfo> InfoFromProto(std::string_view method,
                                          const v1::Session& proto) {
  absl::StatusOr<LossScaler> config = wire::LossScalerFromProto(proto.config());
  if (!config.ok()) return MalformedAnswer(method, config.status());
  absl::StatusOr<LossScaler> scaler = wire::LossScalerFromProto(proto.scaler());
  if (!scaler.ok()) return MalformedAnswer(method, scaler.status());
  SessionInfo info;
  info.name = proto.name();
  info.uid = proto.uid();
  info.config = *std::move(config);
  info.scaler = *std::move(scaler);
  info.current = wire::CurrentFromProto(proto.current());
  if (proto.has_last_decision()) {
    absl::StatusOr<Decision> decision =
        wire::DecisionFromProto(proto.last_decision());
    if (!decision.ok()) return MalformedAnswer(method, decision.status());
    info.last_decision = *std::move(decision);
  }
  info.attempted = proto.attempted();
  info.applied = proto.applied();
  info.skipped = proto.skipped();
  info.consecutive_skips = proto.consecutive_skips();
  info.create_time = wire::TimeFromProto(proto.create_time());
  info.scaler_json = proto.scaler_json();
  if (!proto.has_group()) return info;
  if (absl::Status status = AddGroup(proto, &info); !status.ok()) {
    return MalformedAnswer(method, status);
  }
  return info;
}

}  // namespace lossscaler::internal
