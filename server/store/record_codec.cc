// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/record_codec.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "store/group_record.h"
#include "store/session_record.pb.h"

namespace lossscaler::server {
namespace {

using lossscaler::store::SessionRecord;

// What holds in every state that the rules of core can reach.
absl::Status CheckInvariants(const SessionState& state) {
  if (state.name.empty()) return NoRecord("session", "it has no name");
  if (state.uid.empty()) return NoRecord("session", "it has no uid");
  if (state.revision < 1) {
    return NoRecord("session",
                    absl::StrCat("revision ", state.revision, " is below 1"));
  }
  if (state.step < 1) {
    return NoRecord("session",
                    absl::StrCat("step ", state.step, " is below 1"));
  }
  if (state.epoch < 1) {
    return NoRecord("session",
                    absl::StrCat("epoch ", state.epoch, " is below 1"));
  }
  // The base of another session may have any number.
  if (state.base < 0 || (state.base_uid.empty() && state.base >= state.step)) {
    return NoRecord(
        "session",
        absl::StrCat("base ", state.base,
                     " is no decided step; the open step is ", state.step));
  }
  if (state.applied < 0 || state.skipped < 0 || state.consecutive_skips < 0 ||
      state.applied >= state.step || state.skipped >= state.step ||
      state.attempted() >= state.step) {
    return NoRecord(
        "session",
        absl::StrCat(state.applied, " applied and ", state.skipped,
                     " skipped steps, ", state.consecutive_skips,
                     " in a row, do not fit the open step ", state.step));
  }
  if (!SameConfiguration(state.config, state.scaler)) {
    return NoRecord("session",
                    absl::StrCat("its scaler is ", state.scaler.DebugString(),
                                 ", configured otherwise than ",
                                 state.config.DebugString()));
  }
  if (state.base_uid == state.uid) {
    return NoRecord("session", "its base names it as another session");
  }
  return state.group ? CheckGroup(*state.group) : absl::OkStatus();
}

}  // namespace

std::string EncodeSession(const SessionState& state) {
  SessionRecord record;
  record.set_name(state.name);
  record.set_uid(state.uid);
  wire::ToProto(state.config, record.mutable_config());
  wire::ToProto(state.scaler, record.mutable_scaler());
  record.set_step(state.step);
  record.set_base(state.base);
  record.set_epoch(state.epoch);
  record.set_applied(state.applied);
  record.set_skipped(state.skipped);
  record.set_consecutive_skips(state.consecutive_skips);
  record.set_revision(state.revision);
  record.set_create_request_id(state.create_request_id);
  *record.mutable_create_time() = wire::ToProto(state.create_time);
  record.set_base_uid(state.base_uid);
  record.set_last_loss(state.last_loss);
  if (state.group) FillGroupRecord(*state.group, record.mutable_group());
  return record.SerializeAsString();
}

absl::StatusOr<SessionState> DecodeSession(std::string_view bytes) {
  SessionRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return NoRecord("session", "the bytes do not parse");
  }
  absl::StatusOr<LossScaler> config =
      wire::LossScalerFromProto(record.config());
  if (!config.ok()) return NoRecord("session", config.status().ToString());
  absl::StatusOr<LossScaler> scaler =
      wire::LossScalerFromProto(record.scaler());
  if (!scaler.ok()) return NoRecord("session", scaler.status().ToString());
  SessionState state = {
      .name = record.name(),
      .uid = record.uid(),
      .config = *std::move(config),
      .scaler = *std::move(scaler),
      .step = record.step(),
      .base = record.base(),
      .base_uid = record.base_uid(),
      .epoch = record.epoch(),
      .applied = record.applied(),
      .skipped = record.skipped(),
      .consecutive_skips = record.consecutive_skips(),
      .revision = record.revision(),
      .last_loss = record.last_loss(),
      .create_request_id = record.create_request_id(),
      .create_time = wire::TimeFromProto(record.create_time()),
      .group = {}};
  if (record.has_group()) {
    absl::StatusOr<GroupState> group = GroupFromRecord(record.group());
    if (!group.ok()) return group.status();
    state.group = *std::move(group);
  }
  if (absl::Status status = CheckInvariants(state); !status.ok()) return status;
  return state;
}

std::string EncodeDecision(const Decision& decision) {
  v1::Decision proto;
  wire::ToProto(decision, &proto);
  return proto.SerializeAsString();
}

absl::StatusOr<Decision> DecodeDecision(std::string_view bytes) {
  v1::Decision proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return NoRecord("decision", "the bytes do not parse");
  }
  absl::StatusOr<Decision> decision = wire::DecisionFromProto(proto);
  if (!decision.ok()) {
    return NoRecord("decision", decision.status().ToString());
  }
  return decision;
}

}  // namespace lossscaler::server
