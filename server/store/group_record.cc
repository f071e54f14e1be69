// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/group_record.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::server {
namespace {

using lossscaler::store::DepartedRecord;
using lossscaler::store::GroupRecord;
using lossscaler::store::MemberRecord;

void FillMemberRecord(const Member& member, MemberRecord* record) {
  record->set_worker(member.worker);
  record->set_incarnation(member.incarnation);
  record->set_resume_token(member.resume_token);
  record->set_join_request_id(member.join_request_id);
  record->set_state(wire::ToProto(member.state));
  record->set_left_after_voting(member.left_after_voting);
  if (member.checkpoint) {
    wire::ToProto(*member.checkpoint, record->mutable_checkpoint());
  }
}

absl::StatusOr<Member> MemberFromRecord(const MemberRecord& record) {
  absl::StatusOr<MemberState> state =
      wire::MemberStateFromProto(record.state());
  if (!state.ok()) return NoRecord("session", state.status().ToString());
  Member member = {.worker = record.worker(),
                   .incarnation = record.incarnation(),
                   .resume_token = record.resume_token(),
                   .join_request_id = record.join_request_id(),
                   .state = *state,
                   .left_after_voting = record.left_after_voting(),
                   .checkpoint = {}};
  if (record.has_checkpoint()) {
    absl::StatusOr<Checkpoint> checkpoint =
        wire::CheckpointFromProto(record.checkpoint());
    if (!checkpoint.ok()) {
      return NoRecord("session", checkpoint.status().ToString());
    }
    member.checkpoint = *std::move(checkpoint);
  }
  return member;
}

}  // namespace

absl::Status NoRecord(std::string_view kind, std::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "this is no record of a ", std::string(kind), ": ", std::string(what)));
}

void FillGroupRecord(const GroupState& group, GroupRecord* record) {
  wire::ToProto(group.config, record->mutable_config());
  for (const Member& member : group.members) {
    FillMemberRecord(member, record->add_members());
  }
  record->set_next_incarnation(group.next_incarnation);
  record->set_attempt(group.attempt);
  record->set_open(group.open);
  record->set_timeouts(group.timeouts);
  for (const Departed& departed : group.departed) {
    DepartedRecord* const to = record->add_departed();
    to->set_worker(departed.worker);
    to->set_join_request_id(departed.join_request_id);
    to->set_incarnation(departed.incarnation);
  }
  record->set_restore_required(group.restore_required);
}

absl::StatusOr<GroupState> GroupFromRecord(const GroupRecord& record) {
  GroupState group;
  absl::StatusOr<GroupConfig> config =
      wire::GroupConfigFromProto(record.config());
  if (!config.ok()) return NoRecord("session", config.status().ToString());
  group.config = *config;
  for (const MemberRecord& member : record.members()) {
    absl::StatusOr<Member> parsed = MemberFromRecord(member);
    if (!parsed.ok()) return parsed.status();
    group.members.push_back(*std::move(parsed));
  }
  group.next_incarnation = record.next_incarnation();
  group.attempt = record.attempt();
  group.open = record.open();
  group.timeouts = record.timeouts();
  for (const DepartedRecord& departed : record.departed()) {
    group.departed.push_back({.worker = departed.worker(),
                              .join_request_id = departed.join_request_id(),
                              .incarnation = departed.incarnation()});
  }
  group.restore_required = record.restore_required();
  return group;
}

absl::Status CheckGroup(const GroupState& group) {
  std::int64_t previous = 0;
  for (const Member& member : group.members) {
    if (member.incarnation <= previous) {
      return NoRecord("session",
                      absl::StrCat("incarnation ", member.incarnation,
                                   " stands behind ", previous));
    }
    previous = member.incarnation;
    if (!group.open && member.state != MemberState::kActive) {
      return NoRecord("session",
                      absl::StrCat("worker ", member.worker, " is ",
                                   std::string(MemberStateName(member.state)),
                                   " although no step is open"));
    }
  }
  if (previous >= group.next_incarnation) {
    return NoRecord("session", absl::StrCat("incarnation ", previous,
                                            " has not been given yet"));
  }
  if (group.attempt < 0 || group.timeouts < 0) {
    return NoRecord("session",
                    absl::StrCat("attempt ", group.attempt, " or ",
                                 group.timeouts, " timeouts are below 0"));
  }
  return absl::OkStatus();
}

}  // namespace lossscaler::server
