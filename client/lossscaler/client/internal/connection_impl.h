// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ConnectionImpl: builds requests, sends them through a Stub with retries, and
// turns answers into values.

#ifndef LOSSSCALER_CLIENT_INTERNAL_CONNECTION_IMPL_H_
#define LOSSSCALER_CLIENT_INTERNAL_CONNECTION_IMPL_H_

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

 private:
  template <typename Request, typename Response>
  using Method = absl::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                        Response*);

  // Calls until there is an answer or no hope.
  template <typename Request, typename Response>
  absl::Status Call(std::string_view name, Method<Request, Response> method,
                    const Request& request, Idempotency idempotency,
                    Response* response);

  RetryLoop StartLoop(std::string_view method);

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
