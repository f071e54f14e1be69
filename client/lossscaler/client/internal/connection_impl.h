// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ConnectionImpl: builds requests, sends them through a Stub with retries, and
// turns answers into values.

#ifndef LOSSSCALER_CLIENT_INTERNAL_CONNECTION_IMPL_H_
#define LOSSSCALER_CLIENT_INTERNAL_CONNECTION_IMPL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lossscaler/client/connection.h"
#include "lossscaler/client/internal/retry_loop.h"
#include "lossscaler/client/internal/stub.h"
#include "lossscaler/client/internal/unscale_plan.h"
#include "lossscaler/client/internal/unscale_pump.h"
#include "lossscaler/client/options.h"

namespace lossscaler::internal {

class ConnectionImpl : public Connection {
 public:
  ConnectionImpl(std::shared_ptr<Stub> stub, const ClientOptions& options);

  absl::StatusOr<SessionInfo> CreateSession(const std::string& name,
                                            const LossScaler& scaler,
                                            IfExists if_exists) override;
  absl::StatusOr<SessionInfo> GetSession(const SessionRef& session) override;
  absl::StatusOr<SessionPage> ListSessions(
      const std::string& prefix, int page_size,
      const std::string& page_token) override;
  absl::Status DeleteSession(const SessionRef& session) override;
  absl::StatusOr<RestoreAnswer> RestoreSession(
      const SessionRef& session, const LossScaler& state,
      std::optional<std::int64_t> if_epoch,
      const std::string& request_id) override;
  absl::StatusOr<ScaleLossAnswer> ScaleLoss(const ScaleLossCall& call) override;
  absl::StatusOr<UnscaleAnswer> Unscale(const UnscaleCall& call) override;
  absl::StatusOr<UpdateAnswer> Update(const UpdateCall& call) override;
  absl::StatusOr<ServerInfo> GetServerInfo() override;

  // connection_group.cc.
  absl::StatusOr<SessionInfo> CreateGroup(const std::string& name,
                                          const LossScaler& scaler,
                                          const GroupConfig& group,
                                          IfExists if_exists) override;
  absl::StatusOr<JoinAnswer> JoinSession(const SessionRef& session,
                                         const JoinEvent& join) override;
  absl::StatusOr<JoinAnswer> RejoinSession(const SessionRef& session,
                                           const JoinEvent& join) override;
  absl::Status LeaveSession(const SessionRef& session,
                            const WorkerRef& worker) override;
  absl::Status LeaveSessionWithin(const SessionRef& session,
                                  const WorkerRef& worker,
                                  absl::Duration budget) override;
  std::shared_ptr<WorkerStream> Participate(
      const SessionRef& session, const WorkerRef& worker,
      std::shared_ptr<WorkerStreamEvents> events) override;
  absl::StatusOr<DecisionPage> ListDecisions(
      const SessionRef& session, const ListDecisionsCall& call) override;
  absl::Status WatchSession(
      const SessionRef& session, const WatchCall& call,
      const std::function<bool(const Decision&)>& see) override;

 private:
  template <typename Request, typename Response>
  using Method = absl::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                        Response*);

  // Calls until there is an answer or no hope.
  template <typename Request, typename Response>
  absl::Status Call(std::string_view name, Method<Request, Response> method,
                    const Request& request, Idempotency idempotency,
                    Response* response);

  absl::Status Retry(
      std::string_view name, Idempotency idempotency,
      const std::function<absl::Status(grpc::ClientContext*)>& attempt);
  // The same within the budget of `options`.
  absl::Status RetryWithin(
      const ClientOptions& options, std::string_view name,
      Idempotency idempotency,
      const std::function<absl::Status(grpc::ClientContext*)>& attempt);

  enum class IfHeld { kWait, kFail };
  absl::StatusOr<JoinAnswer> Join(const SessionRef& session,
                                  const JoinEvent& join, IfHeld if_held);

  // One stream of decisions, until it ends. `request` names the next one to
  // see; `stopped` says that no other is wanted.
  absl::Status WatchOnce(const std::function<bool(const Decision&)>& see,
                         v1::WatchSessionRequest* request, RetryLoop* loop,
                         bool* stopped);

  // `options` outlive the loop.
  RetryLoop StartLoop(std::string_view method, const ClientOptions& options);

  // The first message of the next stream of a call.
  absl::StatusOr<v1::UnscaleOpen> NextOpen(const UnscaleCall& call,
                                           const UnscalePlan& plan,
                                           UnscalePump* pump) const;

  const std::shared_ptr<Stub> stub_;
  const ClientOptions options_;
  // The error of every call that would need them, or OK.
  const absl::Status credentials_;
  const std::shared_ptr<Clock> clock_;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CONNECTION_IMPL_H_
