// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/session_calls.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/solo.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"
#include "rpc/translate.h"

namespace lossscaler::server {
namespace {

constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1000;
// A page of sessions stays well below the largest message.
constexpr std::size_t kMaxPageBytes = std::size_t{2} << 20;

// Unset: solo.
absl::StatusOr<std::optional<GroupConfig>> GroupOf(
    const v1::CreateSessionRequest& request) {
  if (!v1::SessionKind_IsValid(request.kind())) {
    return UnknownEnumerator("kind", request.kind());
  }
  const bool group = request.kind() == v1::SESSION_KIND_GROUP;
  if (group && !request.has_group()) {
    return MakeError(Reason::kInvalidGroup,
                     "kind is GROUP and group is not set; say how many workers "
                     "there are",
                     {{"field", "group"}});
  }
  if (!group && request.has_group()) {
    return MakeError(Reason::kInvalidGroup,
                     "group is set and kind is not GROUP; set the kind, or "
                     "leave group out",
                     {{"field", "group"}});
  }
  if (!group) return std::nullopt;
  return wire::GroupConfigFromProto(request.group());
}

}  // namespace

void CreateSession(Registry* registry, const v1::CreateSessionRequest& request,
                   v1::CreateSessionResponse* response,
                   const Finisher& finish) {
  if (!v1::IfExists_IsValid(request.if_exists())) {
    return finish(UnknownEnumerator("if_exists", request.if_exists()));
  }
  const absl::StatusOr<std::optional<GroupConfig>> group = GroupOf(request);
  if (!group.ok()) return finish(group.status());
  absl::StatusOr<LossScaler> scaler =
      wire::LossScalerFromProto(request.scaler());
  if (!scaler.ok()) return finish(scaler.status());
  registry->Create(
      {.name = request.session(),
       .config = *std::move(scaler),
       .return_if_equal = request.if_exists() == v1::IF_EXISTS_RETURN_IF_EQUAL,
       .request_id = request.request_id(),
       .group = *group},
      [response, finish](const absl::StatusOr<Registry::Created>& created) {
        if (created.ok()) {
          ToProto(created->snapshot, response->mutable_session());
          response->set_created(created->created);
        }
        finish(created.status());
      });
}

void GetSession(Registry* registry, const v1::GetSessionRequest& request,
                v1::GetSessionResponse* response, const Finisher& finish) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(registry, request);
  if (!session.ok()) return finish(session.status());
  // After what is being decided right now, so that a caller that saw a decision
  // also sees its state.
  (*session)->Look(
      [response, finish](const absl::StatusOr<SessionSnapshot>& snapshot) {
        if (snapshot.ok()) ToProto(*snapshot, response->mutable_session());
        finish(snapshot.status());
      });
}

absl::Status ListSessions(const Registry& registry,
                          const v1::ListSessionsRequest& request,
                          v1::ListSessionsResponse* response) {
  if (request.page_size() < 0 || request.page_size() > kMaxPageSize) {
    return BadField("page_size", absl::StrCat(request.page_size()),
                    absl::StrCat("it must be between 0 and ", kMaxPageSize));
  }
  // A page token is the last name of the page before.
  if (!request.page_token().empty() &&
      (!ValidateSessionName(request.page_token()).ok() ||
       !std::string_view(request.page_token()).starts_with(request.prefix()))) {
    return BadField("page_token", Quoted(request.page_token()),
                    "use the next_page_token of the page before, with the "
                    "same prefix");
  }
  const int limit =
      request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  const std::vector<std::shared_ptr<Session>> sessions =
      registry.List(request.prefix(), request.page_token(), limit + 1);
  std::size_t bytes = 0;
  int taken = 0;
  for (const std::shared_ptr<Session>& session : sessions) {
    if (taken == limit || bytes > kMaxPageBytes) {
      response->set_next_page_token(
          sessions[static_cast<std::size_t>(taken) - 1]->name());
      break;
    }
    ++taken;
    std::optional<SessionSnapshot> snapshot = session->Snapshot();
    if (!snapshot) continue;
    v1::Session* proto = response->add_sessions();
    ToProto(*snapshot, proto);
    // As many as the group has workers.
    if (snapshot->state.group && proto->has_last_decision()) {
      proto->mutable_last_decision()->clear_votes();
    }
    bytes += proto->ByteSizeLong();
  }
  return absl::OkStatus();
}

void DeleteSession(Registry* registry, const v1::DeleteSessionRequest& request,
                   const Finisher& finish) {
  registry->Delete(request.session(), request.session_uid(),
                   request.request_id(), finish);
}

void RestoreSession(Registry* registry,
                    const v1::RestoreSessionRequest& request,
                    v1::RestoreSessionResponse* response,
                    const Finisher& finish) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(registry, request);
  if (!session.ok()) return finish(session.status());
  const absl::StatusOr<LossScaler> scaler =
      wire::LossScalerFromProto(request.state());
  if (!scaler.ok()) return finish(scaler.status());
  std::optional<std::int64_t> if_epoch;
  if (request.has_if_epoch()) if_epoch = request.if_epoch();
  (*session)->Restore(
      *scaler, if_epoch, request.request_id(),
      [response, finish](const absl::StatusOr<RestoreAnswer>& answer) {
        if (answer.ok()) {
          wire::ToProto(answer->decision, response->mutable_decision());
          ToProto(answer->snapshot, response->mutable_session());
        }
        finish(answer.status());
      });
}

void GetServerInfo(const ServiceDependencies& server,
                   v1::GetServerInfoResponse* response) {
  const Limits& limits = server.limits;
  response->set_version(server.version);
  response->add_features("group");
  v1::ServerLimits* proto = response->mutable_limits();
  proto->set_max_sessions(limits.max_sessions);
  proto->set_max_unscale_streams(limits.max_unscale_streams);
  proto->set_max_bytes_in_flight(limits.max_bytes_in_flight);
  proto->set_max_tensors_per_stream(limits.max_tensors_per_stream);
  proto->set_max_chunk_bytes(kMaxChunkBytes);
  proto->set_max_losses_per_call(limits.max_losses_per_call);
  proto->set_replayable_decisions(kReplayableDecisions);
  proto->set_unscale_idle_millis(
      absl::ToInt64Milliseconds(limits.unscale_idle));
  proto->set_max_workers_per_session(kMaxWorkers);
  proto->set_max_watch_streams(limits.max_watch_streams);
  proto->set_max_open_calls(limits.max_open_calls);
  proto->set_max_parts_per_vote(kMaxParts);
  response->set_store(std::string(server.store->name()));
  response->set_durability(std::string(server.store->durability()));
  response->set_start_count(server.store->start_count());
  response->set_sessions(server.registry->size());
}

}  // namespace lossscaler::server
