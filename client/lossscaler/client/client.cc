// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/client.h"

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/internal/session_state.h"

namespace lossscaler {

Client::Client(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

absl::StatusOr<Session> Client::OpenSession(const std::string& name,
                                            const LossScaler& scaler) {
  const absl::StatusOr<SessionInfo> info =
      connection_->CreateSession(name, scaler, IfExists::kReturnIfEqual);
  if (!info.ok()) return info.status();
  return Session(std::make_shared<Session::State>(connection_, *info));
}

absl::StatusOr<Session> Client::CreateSession(const std::string& name,
                                              const LossScaler& scaler) {
  const absl::StatusOr<SessionInfo> info =
      connection_->CreateSession(name, scaler, IfExists::kFail);
  if (!info.ok()) return info.status();
  return Session(std::make_shared<Session::State>(connection_, *info));
}

absl::StatusOr<Session> Client::GetSession(const std::string& name) {
  const absl::StatusOr<SessionInfo> info =
      connection_->GetSession({.name = name, .uid = ""});
  if (!info.ok()) return info.status();
  return Session(std::make_shared<Session::State>(connection_, *info));
}

absl::StatusOr<std::vector<SessionInfo>> Client::ListSessions(
    const std::string& prefix) {
  std::vector<SessionInfo> sessions;
  std::string page_token;
  do {
    absl::StatusOr<SessionPage> page =
        connection_->ListSessions(prefix, /*page_size=*/0, page_token);
    if (!page.ok()) return page.status();
    std::move(page->sessions.begin(), page->sessions.end(),
              std::back_inserter(sessions));
    page_token = std::move(page->next_page_token);
  } while (!page_token.empty());
  return sessions;
}

absl::Status Client::DeleteSession(const std::string& name) {
  return connection_->DeleteSession({.name = name, .uid = ""});
}

absl::StatusOr<ServerInfo> Client::GetServerInfo() {
  return connection_->GetServerInfo();
}

absl::StatusOr<SessionInfo> Client::OpenGroup(const std::string& name,
                                              const LossScaler& scaler,
                                              const GroupConfig& group) {
  return connection_->CreateGroup(name, scaler, group,
                                  IfExists::kReturnIfEqual);
}

absl::StatusOr<WorkerSession> Client::JoinGroup(const std::string& name,
                                                const WorkerOptions& options) {
  return WorkerSession::Join(connection_, name, options);
}

}  // namespace lossscaler
