// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the handlers of calls share: how a call is answered.

#ifndef LOSSSCALER_SERVER_RPC_UNARY_CALL_H_
#define LOSSSCALER_SERVER_RPC_UNARY_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/core/error.h"
#include "ops/call_gate.h"
#include "rpc/call.h"
#include "rpc/grpc_status.h"
#include "sessions/registry.h"

namespace lossscaler::server {

// Ends a call. Handlers call it exactly once, now or later, on any thread;
// request and response live until then.
using Finisher = std::function<void(const absl::Status&)>;

// What every call passes: who calls, then whether there is room.
struct Entrance {
  const Reception* reception = nullptr;
  CallGate* gate = nullptr;
};

// The session that a request names; of ListSessions, what names begin with.
template <typename Request>
std::string_view SessionNamedBy(const Request& request) {
  if constexpr (requires { request.session(); }) {
    return request.session();
  } else if constexpr (requires { request.prefix(); }) {
    return request.prefix();
  } else {
    return {};
  }
}

// Finds out who calls and whether they may call this, and keeps for the record
// what the request names.
template <typename Request>
absl::Status AdmitTo(const Request& request, Call* call) {
  if (absl::Status status = call->Identify(); !status.ok()) return status;
  if constexpr (requires { request.worker(); }) {
    std::optional<std::int64_t> step;
    if constexpr (requires { request.has_step(); }) {
      if (request.has_step()) step = request.step();
    }
    call->Name(request.worker(), step);
  }
  return call->Admit(SessionNamedBy(request));
}

// Runs a handler of one call between the gate's doors.
template <typename Request, typename Handler>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                 const Entrance& entrance, Method method,
                                 const Request& request,
                                 const Handler& handler) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<Call>(entrance.reception, method, context);
  absl::Status status = AdmitTo(request, call.get());
  if (status.ok()) status = entrance.gate->Enter();
  if (!status.ok()) {
    call->End(status);
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }
  handler([reactor, call, gate = entrance.gate](const absl::Status& result) {
    const auto finish = [reactor, call, gate, result] {
      call->End(result);
      reactor->Finish(ToGrpcStatus(result));
      gate->Leave();
    };
    // A request that is too large in itself is not held meanwhile.
    if (!absl::IsResourceExhausted(result) ||
        ReasonOf(result) == Reason::kTooManyLosses) {
      return finish();
    }
    gate->refusals().Refuse(finish);
  });
  return reactor;
}

// A stream that is refused before it has begun.
template <typename Reactor>
class RefusedStream final : public Reactor {
 public:
  RefusedStream(Call* call, const absl::Status& status) {
    call->End(status);
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
