// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the handlers of calls share: how a call is answered.

#ifndef LOSSSCALER_SERVER_RPC_UNARY_CALL_H_
#define LOSSSCALER_SERVER_RPC_UNARY_CALL_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "ops/call_gate.h"
#include "rpc/grpc_status.h"
#include "sessions/registry.h"

namespace lossscaler::server {

// Ends a call. Handlers call it exactly once, now or later, on any thread;
// request and response live until then.
using Finisher = std::function<void(const absl::Status&)>;

// Runs a handler of one call between the gate's doors.
template <typename Handler>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                 CallGate* gate, const Handler& handler) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (absl::Status status = gate->Enter(); !status.ok()) {
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }
  handler([reactor, gate](const absl::Status& status) {
    const auto finish = [reactor, gate, status] {
      reactor->Finish(ToGrpcStatus(status));
      gate->Leave();
    };
    if (!absl::IsResourceExhausted(status)) return finish();
    gate->refusals().Refuse(finish);
  });
  return reactor;
}

// A stream that is refused before it has begun.
template <typename Reactor>
class RefusedStream final : public Reactor {
 public:
  explicit RefusedStream(const absl::Status& status) {
    this->Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

// The session that a request names.
template <typename Request>
absl::StatusOr<std::shared_ptr<Session>> FindSession(Registry* registry,
                                                     const Request& request) {
  return registry->Find(request.session(), request.session_uid());
}

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_UNARY_CALL_H_
