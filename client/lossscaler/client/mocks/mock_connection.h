// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// MockConnection: a server that a trainer's test makes up.
//
//   auto connection = std::make_shared<lossscaler::MockConnection>();
//   EXPECT_CALL(*connection, CreateSession).WillOnce(Return(info));
//   lossscaler::Client client(connection);
//
// By default Participate() refuses every stream with UNIMPLEMENTED, which ends
// a worker's waiting with that error; RejoinSession() is JoinSession(), and
// LeaveSessionWithin() is LeaveSession().

#ifndef LOSSSCALER_CLIENT_MOCKS_MOCK_CONNECTION_H_
#define LOSSSCALER_CLIENT_MOCKS_MOCK_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "lossscaler/client/connection.h"

namespace lossscaler {

class MockConnection : public Connection {
 public:
  MockConnection() {
    ON_CALL(*this, Participate)
        .WillByDefault([this](const SessionRef& session,
                              const WorkerRef& worker,
                              std::shared_ptr<WorkerStreamEvents> events) {
          return Connection::Participate(session, worker, std::move(events));
        });
  }

  MOCK_METHOD(absl::StatusOr<SessionInfo>, CreateSession,
              (const std::string& name, const LossScaler& scaler,
               IfExists if_exists),
              (override));
  MOCK_METHOD(absl::StatusOr<SessionInfo>, GetSession,
              (const SessionRef& session), (override));
  MOCK_METHOD(absl::StatusOr<SessionPage>, ListSessions,
              (const std::string& prefix, int page_size,
               const std::string& page_token),
              (override));
  MOCK_METHOD(absl::Status, DeleteSession, (const SessionRef& session),
              (override));
  MOCK_METHOD(absl::StatusOr<RestoreAnswer>, RestoreSession,
              (const SessionRef& session, const LossScaler& state,
               std::optional<std::int64_t> if_epoch,
               const std::string& request_id),
              (override));
  MOCK_METHOD(absl::StatusOr<ScaleLossAnswer>, ScaleLoss,
              (const ScaleLossCall& call), (override));
  MOCK_METHOD(absl::StatusOr<UnscaleAnswer>, Unscale, (const UnscaleCall& call),
              (override));
  MOCK_METHOD(absl::StatusOr<UpdateAnswer>, Update, (const UpdateCall& call),
              (override));
  MOCK_METHOD(absl::StatusOr<ServerInfo>, GetServerInfo, (), (override));
  MOCK_METHOD(absl::StatusOr<SessionInfo>, CreateGroup,
              (const std::string& name, const LossScaler& scaler,
               const GroupConfig& group, IfExists if_exists),
              (override));
  MOCK_METHOD(absl::StatusOr<JoinAnswer>, JoinSession,
              (const SessionRef& session, const JoinEvent& join), (override));
  MOCK_METHOD(absl::Status, LeaveSession,
              (const SessionRef& session, const WorkerRef& worker), (override));
  MOCK_METHOD(std::shared_ptr<WorkerStream>, Participate,
              (const SessionRef& session, const WorkerRef& worker,
               std::shared_ptr<WorkerStreamEvents> events),
              (override));
  MOCK_METHOD(absl::StatusOr<DecisionPage>, ListDecisions,
              (const SessionRef& session, const ListDecisionsCall& call),
              (override));
  MOCK_METHOD(absl::Status, WatchSession,
              (const SessionRef& session, const WatchCall& call,
               const std::function<bool(const Decision&)>& see),
              (override));
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_MOCKS_MOCK_CONNECTION_H_
