// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/service.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/v1/group.pb.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "ops/idle_watchdog.h"
#include "rpc/call.h"
#include "rpc/group_calls.h"
#include "rpc/grpc_status.h"
#include "rpc/participate_reactor.h"
#include "rpc/session_calls.h"
#include "rpc/step_calls.h"
#include "rpc/unary_call.h"
#include "rpc/unscale_reactor.h"
#include "rpc/watch_reactor.h"

namespace lossscaler::server {
namespace {

using Service = v1::LossScalerService;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// Method by method: gradients come as bytes, everything else as messages.
template <typename Rest>
using WithSessionCalls = Service::WithCallbackMethod_CreateSession<
    Service::WithCallbackMethod_GetSession<
        Service::WithCallbackMethod_ListSessions<
            Service::WithCallbackMethod_DeleteSession<
                Service::WithCallbackMethod_RestoreSession<
                    Service::WithCallbackMethod_GetServerInfo<Rest>>>>>>;
template <typename Rest>
using WithStepCalls = Service::WithCallbackMethod_ScaleLoss<
    Service::WithRawCallbackMethod_Unscale<
        Service::WithCallbackMethod_Update<Rest>>>;
template <typename Rest>
using WithGroupCalls = Service::WithCallbackMethod_JoinSession<
    Service::WithCallbackMethod_Participate<
        Service::WithCallbackMethod_LeaveSession<
            Service::WithCallbackMethod_WatchSession<
                Service::WithCallbackMethod_ListDecisions<Rest>>>>>;
using Base = WithSessionCalls<WithStepCalls<WithGroupCalls<Service::Service>>>;

class LossScalerServiceImpl final : public Base {
 public:
  explicit LossScalerServiceImpl(const ServiceDependencies& dependencies)
      : dependencies_(dependencies),
        entrance_{.reception = dependencies.reception,
                  .gate = dependencies.gate},
        watchdog_(dependencies.limits.unscale_idle) {}

  // ---- Sessions and the server

  ServerUnaryReactor* CreateSession(
      CallbackServerContext* context, const v1::CreateSessionRequest* request,
      v1::CreateSessionResponse* response) override {
    return Answer(context, entrance_, Method::kCreateSession, *request,
                  [&](const Finisher& finish) {
                    server::CreateSession(registry(), *request, response,
                                          finish);
                  });
  }

  ServerUnaryReactor* GetSession(CallbackServerContext* context,
                                 const v1::GetSessionRequest* request,
                                 v1::GetSessionResponse* response) override {
    return Answer(context, entrance_, Method::kGetSession, *request,
                  [&](const Finisher& finish) {
                    server::GetSession(registry(), *request, response, finish);
                  });
  }

  ServerUnaryReactor* ListSessions(
      CallbackServerContext* context, const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override {
    return Answer(
        context, entrance_, Method::kListSessions, *request,
        [&](const Finisher& finish) {
          finish(server::ListSessions(*registry(), *request, response));
        });
  }

  ServerUnaryReactor* DeleteSession(
      CallbackServerContext* context, const v1::DeleteSessionRequest* request,
      v1::DeleteSessionResponse* /*response*/) override {
    return Answer(context, entrance_, Method::kDeleteSession, *request,
                  [&](const Finisher& finish) {
                    server::DeleteSession(registry(), *request, finish);
                  });
  }

  ServerUnaryReactor* RestoreSession(
      CallbackServerContext* context, const v1::RestoreSessionRequest* request,
      v1::RestoreSessionResponse* response) override {
    return Answer(context, entrance_, Method::kRestoreSession, *request,
                  [&](const Finisher& finish) {
                    server::RestoreSession(registry(), *request, response,
                                           finish);
                  });
  }

  ServerUnaryReactor* GetServerInfo(
      CallbackServerContext* context, const v1::GetServerInfoRequest* request,
      v1::GetServerInfoResponse* response) override {
    return Answer(context, entrance_, Method::kGetServerInfo, *request,
                  [&](const Finisher& finish) {
                    server::GetServerInfo(dependencies_, response);
                    finish(absl::OkStatus());
                  });
  }

  // ---- Steps

  ServerUnaryReactor* ScaleLoss(CallbackServerContext* context,
                                const v1::ScaleLossRequest* request,
                                v1::ScaleLossResponse* response) override {
    HoldSpareThreads();
    return Answer(context, entrance_, Method::kScaleLoss, *request,
                  [&](const Finisher& finish) {
                    finish(server::ScaleLoss(registry(), dependencies_.limits,
                                             *request, response));
                  });
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Unscale(
      CallbackServerContext* context) override {
    auto call = BeginCall(Method::kUnscale, context);
    if (absl::Status status = EnterStream(call.get()); !status.ok()) {
      return new RefusedStream<
          grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(
          call.get(), status);
    }
    HoldSpareThreads();
    return new UnscaleReactor(context, std::move(call),
                              {.registry = registry(),
                               .admission = dependencies_.admission,
                               .watchdog = &watchdog_,
                               .spare_threads = dependencies_.spare_threads,
                               .gate = gate()});
  }

  ServerUnaryReactor* Update(CallbackServerContext* context,
                             const v1::UpdateRequest* request,
                             v1::UpdateResponse* response) override {
    HoldSpareThreads();
    auto call = BeginCall(Method::kUpdate, context);
    absl::Status status = AdmitTo(*request, call.get());
    if (status.ok()) status = gate()->Enter();
    if (!status.ok()) {
      call->End(status);
      ServerUnaryReactor* const refused = context->DefaultReactor();
      refused->Finish(ToGrpcStatus(status));
      return refused;
    }
    return server::Update(registry(), gate(), std::move(call), *request,
                          response);
  }

  // ---- Groups and the journal

  ServerUnaryReactor* JoinSession(CallbackServerContext* context,
                                  const v1::JoinSessionRequest* request,
                                  v1::JoinSessionResponse* response) override {
    return Answer(context, entrance_, Method::kJoinSession, *request,
                  [&](const Finisher& finish) {
                    server::JoinSession(registry(), *request, response, finish);
                  });
  }

  grpc::ServerBidiReactor<v1::ParticipateRequest, v1::ParticipateResponse>*
  Participate(CallbackServerContext* context) override {
    auto call = BeginCall(Method::kParticipate, context);
    if (absl::Status status = EnterStream(call.get()); !status.ok()) {
      return new RefusedStream<grpc::ServerBidiReactor<
          v1::ParticipateRequest, v1::ParticipateResponse>>(call.get(), status);
    }
    HoldSpareThreads();
    if (dependencies_.spare_threads != nullptr) {
      dependencies_.spare_threads->NeedForVotes();
    }
    return new ParticipateReactor(context, std::move(call),
                                  {.registry = registry(),
                                   .participants = registry()->participants(),
                                   .watchdog = &watchdog_,
                                   .gate = gate()});
  }

  ServerUnaryReactor* LeaveSession(
      CallbackServerContext* context, const v1::LeaveSessionRequest* request,
      v1::LeaveSessionResponse* /*response*/) override {
    return Answer(context, entrance_, Method::kLeaveSession, *request,
                  [&](const Finisher& finish) {
                    server::LeaveSession(registry(), *request, finish);
                  });
  }

  grpc::ServerWriteReactor<v1::WatchSessionResponse>* WatchSession(
      CallbackServerContext* context,
      const v1::WatchSessionRequest* request) override {
    auto call = BeginCall(Method::kWatchSession, context);
    absl::Status status = AdmitTo(*request, call.get());
    if (status.ok()) status = gate()->EnterLasting();
    if (!status.ok()) {
      return new RefusedStream<
          grpc::ServerWriteReactor<v1::WatchSessionResponse>>(call.get(),
                                                              status);
    }
    auto* const reactor = new WatchReactor(context, std::move(call),
                                           {.registry = registry(),
                                            .places = dependencies_.watchers,
                                            .watchdog = &watchdog_,
                                            .gate = gate(),
                                            .limits = dependencies_.limits});
    reactor->Start(*request);
    return reactor;
  }

  ServerUnaryReactor* ListDecisions(
      CallbackServerContext* context, const v1::ListDecisionsRequest* request,
      v1::ListDecisionsResponse* response) override {
    return Answer(
        context, entrance_, Method::kListDecisions, *request,
        [&](const Finisher& finish) {
          finish(server::ListDecisions(registry(), *request, response));
        });
  }

 private:
  // On every call that a step makes: they come in numbers, and threads may have
  // started since the last one.
  void HoldSpareThreads() {
    if (dependencies_.spare_threads != nullptr) {
      dependencies_.spare_threads->Begin();
    }
  }

  std::unique_ptr<Call> BeginCall(Method method,
                                  const CallbackServerContext* context) const {
    return std::make_unique<Call>(dependencies_.reception, method, context);
  }
  // Which session it is about is known once it opens.
  absl::Status EnterStream(Call* call) {
    absl::Status status = call->Identify();
    if (status.ok()) status = gate()->Enter();
    return status;
  }

  Registry* registry() const { return dependencies_.registry; }
  CallGate* gate() const { return dependencies_.gate; }

  const ServiceDependencies dependencies_;
  const Entrance entrance_;
  IdleWatchdog watchdog_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLossScalerService(
    const ServiceDependencies& dependencies) {
  return std::make_unique<LossScalerServiceImpl>(dependencies);
}

}  // namespace lossscaler::server
