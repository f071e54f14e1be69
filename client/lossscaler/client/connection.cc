// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/connection.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/refused_stream.h"

namespace lossscaler {
namespace {

absl::Status Unimplemented(const std::string& method) {
  return absl::UnimplementedError(
      absl::StrCat("this connection has no ", method));
}

}  // namespace

absl::StatusOr<SessionInfo> Connection::CreateGroup(const std::string&,
                                                    const LossScaler&,
                                                    const GroupConfig&,
                                                    IfExists) {
  return Unimplemented("CreateGroup");
}

absl::StatusOr<JoinAnswer> Connection::JoinSession(const SessionRef&,
                                                   const JoinEvent&) {
  return Unimplemented("JoinSession");
}

absl::StatusOr<JoinAnswer> Connection::RejoinSession(const SessionRef& session,
                                                     const JoinEvent& join) {
  return JoinSession(session, join);
}

absl::Status Connection::LeaveSession(const SessionRef&, const WorkerRef&) {
  return Unimplemented("LeaveSession");
}

absl::Status Connection::LeaveSessionWithin(const SessionRef& session,
                                            const WorkerRef& worker,
                                            absl::Duration) {
  return LeaveSession(session, worker);
}

std::shared_ptr<WorkerStream> Connection::Participate(
    const SessionRef&, const WorkerRef&,
    std::shared_ptr<WorkerStreamEvents> events) {
  return internal::RefuseToParticipate(Unimplemented("Participate"), events);
}

absl::StatusOr<DecisionPage> Connection::ListDecisions(
    const SessionRef&, const ListDecisionsCall&) {
  return Unimplemented("ListDecisions");
}

absl::Status Connection::WatchSession(
    const SessionRef&, const WatchCall&,
    const std::function<bool(const Decision&)>&) {
  return Unimplemented("WatchSession");
}

}  // namespace lossscaler
