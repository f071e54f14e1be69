// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What only group sessions, their journal and their watchers need.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/connection_impl.h"
#include "lossscaler/client/internal/malformed_answer.h"
#include "lossscaler/client/internal/participate_stream.h"
#include "lossscaler/client/internal/random_id.h"
#include "lossscaler/client/internal/refused_stream.h"
#include "lossscaler/client/internal/session_info.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::internal {
namespace {

absl::Status CheckWorker(const SessionRef& session, const WorkerRef& worker) {
  absl::Status status = CheckSession(session);
  status.Update(wire::WorkerRefOf(worker.worker, worker.incarnation).status());
  return status;
}

absl::Status CheckJoin(const SessionRef& session, const JoinEvent& join) {
  absl::Status status = CheckSession(session);
  status.Update(ValidateId("worker", join.worker));
  if (!join.request_id.empty()) {
    status.Update(ValidateId("request_id", join.request_id));
  }
  if (!join.resume_token.empty()) {
    status.Update(ValidateId("resume_token", join.resume_token));
  }
  if (join.checkpoint) {
    // The initial parameters are nobody's.
    const Base& base = join.checkpoint->base;
    status.Update(
        base.step == 0
            ? CheckText("checkpoint.base.session_uid", base.session_uid)
            : ValidateId("checkpoint.base.session_uid", base.session_uid));
  }
  return status;
}

// The same error, which is not to be waited out.
absl::Status WithoutRetry(const absl::Status& error) {
  const auto known = MetadataOf(error);
  return MakeErrorFromParts(
      error.code(), std::string(error.message()), ReasonNameOf(error),
      ErrorMetadata(known.begin(), known.end()), std::nullopt);
}

// A stream of decisions that has lasted so long was a connection: none takes
// that long to fail.
constexpr absl::Duration kConnected = absl::Seconds(10);

}  // namespace

absl::StatusOr<SessionInfo> ConnectionImpl::CreateGroup(
    const std::string& name, const LossScaler& scaler, const GroupConfig& group,
    IfExists if_exists) {
  absl::Status status = ValidateSessionName(name);
  status.Update(ValidateGroupConfig(group));
  if (!status.ok()) return status;
  v1::CreateSessionRequest request;
  request.set_session(name);
  request.set_kind(v1::SESSION_KIND_GROUP);
  wire::ToProto(scaler, request.mutable_scaler());
  wire::ToProto(group, request.mutable_group());
  request.set_if_exists(if_exists == IfExists::kReturnIfEqual
                            ? v1::IF_EXISTS_RETURN_IF_EQUAL
                            : v1::IF_EXISTS_FAIL);
  request.set_request_id(RandomId());
  v1::CreateSessionResponse response;
  status = Retry("CreateSession", Idempotency::kIdempotent,
                 [&](grpc::ClientContext* context) {
                   response.Clear();
                   return stub_->CreateSession(context, request, &response);
                 });
  if (!status.ok()) return status;
  return InfoFromProto("CreateSession", response.session());
}

absl::StatusOr<JoinAnswer> ConnectionImpl::JoinSession(
    const SessionRef& session, const JoinEvent& join) {
  return Join(session, join, IfHeld::kWait);
}

absl::StatusOr<JoinAnswer> ConnectionImpl::RejoinSession(
    const SessionRef& session, const JoinEvent& join) {
  return Join(session, join, IfHeld::kFail);
}

absl::StatusOr<JoinAnswer> ConnectionImpl::Join(const SessionRef& session,
                                                const JoinEvent& join,
                                                IfHeld if_held) {
  absl::Status status = CheckJoin(session, join);
  if (!status.ok()) return status;
  v1::JoinSessionRequest request;
  SetSession(session, &request);
  wire::JoinToRequest(join, &request);
  if (join.request_id.empty()) request.set_request_id(RandomId());
  v1::JoinSessionResponse response;
  status = Retry("JoinSession", Idempotency::kIdempotent,
                 [&](grpc::ClientContext* context) {
                   response.Clear();
                   const absl::Status answer =
                       stub_->JoinSession(context, request, &response);
                   return if_held == IfHeld::kFail &&
                                  ReasonOf(answer) == Reason::kWorkerHeld
                              ? WithoutRetry(answer)
                              : answer;
                 });
  if (!status.ok()) return status;

  JoinAnswer answer;
  answer.incarnation = response.incarnation();
  answer.resume_token = response.resume_token();
  answer.lease_ttl = wire::DurationFromProto(response.lease_ttl());
  answer.session_uid = response.session_uid();
  if (answer.incarnation < 1 || answer.lease_ttl < kMinLeaseTtl ||
      answer.lease_ttl > kMaxLeaseTtl) {
    return MalformedAnswer(
        "JoinSession",
        absl::StrCat("incarnation ", answer.incarnation, " with a lease of ",
                     absl::FormatDuration(answer.lease_ttl)),
        {{"incarnation", absl::StrCat(answer.incarnation)},
         {"lease_ttl", absl::FormatDuration(answer.lease_ttl)}});
  }
  absl::StatusOr<Membership> membership =
      wire::MembershipFromProto(response.membership());
  if (!membership.ok()) {
    return MalformedAnswer("JoinSession", membership.status());
  }
  answer.membership = *std::move(membership);
  if (response.has_last_decision()) {
    absl::StatusOr<Decision> decision =
        wire::DecisionFromProto(response.last_decision());
    if (!decision.ok()) {
      return MalformedAnswer("JoinSession", decision.status());
    }
    answer.last_decision = *std::move(decision);
  }
  return answer;
}

absl::Status ConnectionImpl::LeaveSession(const SessionRef& session,
                                          const WorkerRef& worker) {
  return LeaveSessionWithin(session, worker, options_.unavailable_budget);
}

absl::Status ConnectionImpl::LeaveSessionWithin(const SessionRef& session,
                                                const WorkerRef& worker,
                                                absl::Duration budget) {
  absl::Status status = CheckWorker(session, worker);
  if (!status.ok()) return status;
  v1::LeaveSessionRequest request;
  SetSession(session, &request);
  request.set_worker(worker.worker);
  request.set_incarnation(worker.incarnation);
  v1::LeaveSessionResponse response;
  ClientOptions options = options_;
  options.unavailable_budget = std::min(budget, options_.unavailable_budget);
  status =
      RetryWithin(options, "LeaveSession", Idempotency::kIdempotent,
                  [&](grpc::ClientContext* context) {
                    response.Clear();
                    return stub_->LeaveSession(context, request, &response);
                  });
  // No member any more is what was asked for.
  return ReasonOf(status) == Reason::kFenced ? absl::OkStatus() : status;
}

std::shared_ptr<WorkerStream> ConnectionImpl::Participate(
    const SessionRef& session, const WorkerRef& worker,
    std::shared_ptr<WorkerStreamEvents> events) {
  if (absl::Status status = CheckWorker(session, worker); !status.ok()) {
    return RefuseToParticipate(status, events);
  }
  v1::ParticipateOpen open;
  SetSession(session, &open);
  open.set_worker(worker.worker);
  open.set_incarnation(worker.incarnation);
  return StartParticipating(stub_, options_, std::move(open),
                            std::move(events));
}

absl::StatusOr<DecisionPage> ConnectionImpl::ListDecisions(
    const SessionRef& session, const ListDecisionsCall& call) {
  absl::Status status = CheckSession(session);
  status.Update(CheckText("page_token", call.page_token));
  if (!status.ok()) return status;
  v1::ListDecisionsRequest request;
  SetSession(session, &request);
  request.set_page_size(call.page_size);
  request.set_page_token(call.page_token);
  if (call.step) request.set_step(*call.step);
  if (call.iteration) request.set_iteration(*call.iteration);
  v1::ListDecisionsResponse response;
  status = Retry("ListDecisions", Idempotency::kIdempotent,
                 [&](grpc::ClientContext* context) {
                   response.Clear();
                   return stub_->ListDecisions(context, request, &response);
                 });
  if (!status.ok()) return status;
  DecisionPage page;
  page.next_page_token = response.next_page_token();
  for (const v1::Decision& proto : response.decisions()) {
    absl::StatusOr<Decision> decision = wire::DecisionFromProto(proto);
    if (!decision.ok()) {
      return MalformedAnswer("ListDecisions", decision.status());
    }
    page.decisions.push_back(*std::move(decision));
  }
  return page;
}

absl::Status ConnectionImpl::WatchSession(
    const SessionRef& session, const WatchCall& call,
    const std::function<bool(const Decision&)>& see) {
  absl::Status status = CheckSession(session);
  if (!status.ok()) return status;
  v1::WatchSessionRequest request;
  SetSession(session, &request);
  request.set_from_step(call.from_step);
  if (call.from_step == 0) {
    // A number, so that nothing is missed when the first stream is lost.
    const absl::StatusOr<SessionInfo> info = GetSession(session);
    if (!info.ok()) return info.status();
    request.set_session_uid(info->uid);
    request.set_from_step(info->current.step);
  }
  RetryLoop loop = StartLoop("WatchSession", options_);
  for (;;) {
    bool stopped = false;
    const absl::Time start = clock_->Now();
    status = WatchOnce(see, &request, &loop, &stopped);
    if (stopped) return status;
    if (clock_->Now() - start >= kConnected) loop.NoteProgress();
    status = loop.WaitAfter(status, Idempotency::kIdempotent);
    if (!status.ok()) return status;
  }
}

absl::Status ConnectionImpl::WatchOnce(
    const std::function<bool(const Decision&)>& see,
    v1::WatchSessionRequest* request, RetryLoop* loop, bool* stopped) {
  grpc::ClientContext context;
  if (!credentials_.ok()) return credentials_;
  AddHeaders(options_, &context);
  absl::Status status;
  const std::unique_ptr<Stub::DecisionReader> reader =
      stub_->WatchSession(&context, *request);
  v1::WatchSessionResponse response;
  // Reads to the end even when nothing more is wanted, as gRPC demands.
  while (reader->Read(&response)) {
    if (*stopped || !status.ok()) continue;
    absl::StatusOr<Decision> decision =
        wire::DecisionFromProto(response.decision());
    if (!decision.ok()) {
      status = MalformedAnswer("WatchSession", decision.status());
    } else if (decision->step < request->from_step()) {
      status = MalformedAnswer(
          "WatchSession",
          absl::StrCat("step ", decision->step, " where ", request->from_step(),
                       " or later was next"),
          {{"got", absl::StrCat(decision->step)},
           {"expected", absl::StrCat(request->from_step())}});
    } else {
      request->set_from_step(decision->step + 1);
      loop->NoteProgress();
      *stopped = !see(*decision);
    }
    if (*stopped || !status.ok()) context.TryCancel();
  }
  const absl::Status end = FromGrpc(reader->Finish());
  if (*stopped || !status.ok()) return status;
  return end.ok() ? absl::UnavailableError("the server ended the stream") : end;
}

}  // namespace lossscaler::internal
