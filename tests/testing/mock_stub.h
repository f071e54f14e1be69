// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// MockStub: the RPCs of a client, attempt by attempt.

#ifndef LOSSSCALER_TESTS_TESTING_MOCK_STUB_H_
#define LOSSSCALER_TESTS_TESTING_MOCK_STUB_H_

#include <memory>

#include "gmock/gmock.h"
#include "lossscaler/client/internal/stub.h"

namespace lossscaler::testing {

class MockStub : public internal::Stub {
 public:
  MOCK_METHOD(absl::Status, CreateSession,
              (grpc::ClientContext*, const v1::CreateSessionRequest&,
               v1::CreateSessionResponse*),
              (override));
  MOCK_METHOD(absl::Status, GetSession,
              (grpc::ClientContext*, const v1::GetSessionRequest&,
               v1::GetSessionResponse*),
              (override));
  MOCK_METHOD(absl::Status, ListSessions,
              (grpc::ClientContext*, const v1::ListSessionsRequest&,
               v1::ListSessionsResponse*),
              (override));
  MOCK_METHOD(absl::Status, DeleteSession,
              (grpc::ClientContext*, const v1::DeleteSessionRequest&,
               v1::DeleteSessionResponse*),
              (override));
  MOCK_METHOD(absl::Status, RestoreSession,
              (grpc::ClientContext*, const v1::RestoreSessionRequest&,
               v1::RestoreSessionResponse*),
              (override));
  MOCK_METHOD(absl::Status, ScaleLoss,
              (grpc::ClientContext*, const v1::ScaleLossRequest&,
               v1::ScaleLossResponse*),
              (override));
  MOCK_METHOD(absl::Status, Update,
              (grpc::ClientContext*, const v1::UpdateRequest&,
               v1::UpdateResponse*),
              (override));
  MOCK_METHOD(absl::Status, GetServerInfo,
              (grpc::ClientContext*, const v1::GetServerInfoRequest&,
               v1::GetServerInfoResponse*),
              (override));
  MOCK_METHOD(BulkCall, Unscale, (grpc::ClientContext*, grpc::CompletionQueue*),
              (override));
  MOCK_METHOD(absl::Status, JoinSession,
              (grpc::ClientContext*, const v1::JoinSessionRequest&,
               v1::JoinSessionResponse*),
              (override));
  MOCK_METHOD(absl::Status, LeaveSession,
              (grpc::ClientContext*, const v1::LeaveSessionRequest&,
               v1::LeaveSessionResponse*),
              (override));
  MOCK_METHOD(absl::Status, ListDecisions,
              (grpc::ClientContext*, const v1::ListDecisionsRequest&,
               v1::ListDecisionsResponse*),
              (override));
  MOCK_METHOD(std::unique_ptr<ParticipateCall>, Participate,
              (grpc::ClientContext*, grpc::CompletionQueue*), (override));
  MOCK_METHOD(std::unique_ptr<DecisionReader>, WatchSession,
              (grpc::ClientContext*, const v1::WatchSessionRequest&),
              (override));
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_MOCK_STUB_H_
