// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/service.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpcpp/support/server_callback.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/solo.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"
#include "lossscaler/wire/convert.h"
#include "ops/idle_watchdog.h"
#include "rpc/grpc_status.h"
#include "rpc/translate.h"
#include "rpc/unscale_reactor.h"
#include "sessions/unscale_stream.h"

namespace lossscaler::server {
namespace {

using Service = v1::LossScalerService;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// Method by method, so that each can be put on another API of gRPC (raw
// messages, a completion queue) without touching the rest.
using Base = Service::WithCallbackMethod_CreateSession<
    Service::WithCallbackMethod_GetSession<
        Service::WithCallbackMethod_ListSessions<
            Service::WithCallbackMethod_DeleteSession<
                Service::WithCallbackMethod_RestoreSession<
                    Service::WithCallbackMethod_ScaleLoss<
                        Service::WithCallbackMethod_Unscale<
                            Service::WithCallbackMethod_Update<
                                Service::WithCallbackMethod_GetServerInfo<
                                    Service::Service>>>>>>>>>;

constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1000;
// A page of sessions stays well below the largest message.
constexpr std::size_t kMaxPageBytes = std::size_t{2} << 20;

absl::Status BadField(std::string_view field, std::string_view value,
                      std::string_view expected) {
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " is ", std::string(value), "; ",
                   std::string(expected)),
      {{"field", std::string(field)}, {"value", std::string(value)}});
}

class LossScalerServiceImpl final : public Base {
 public:
  explicit LossScalerServiceImpl(const ServiceDependencies& dependencies)
      : dependencies_(dependencies),
        admission_(dependencies.limits),
        watchdog_(dependencies.limits.unscale_idle) {}

  ServerUnaryReactor* CreateSession(
      CallbackServerContext* context, const v1::CreateSessionRequest* request,
      v1::CreateSessionResponse* response) override {
    return Answer(context, [&](Finisher finish) {
      if (!v1::SessionKind_IsValid(request->kind())) {
        return finish(UnknownEnumerator("kind", request->kind()));
      }
      if (!v1::IfExists_IsValid(request->if_exists())) {
        return finish(UnknownEnumerator("if_exists", request->if_exists()));
      }
      absl::StatusOr<LossScaler> scaler =
          wire::LossScalerFromProto(request->scaler());
      if (!scaler.ok()) return finish(scaler.status());
      registry()->Create(
          {.name = request->session(),
           .config = *std::move(scaler),
           .return_if_equal =
               request->if_exists() == v1::IF_EXISTS_RETURN_IF_EQUAL,
           .request_id = request->request_id()},
          [response, finish](const absl::StatusOr<Registry::Created>& created) {
            if (created.ok()) {
              ToProto(created->snapshot, response->mutable_session());
              response->set_created(created->created);
            }
            finish(created.status());
          });
    });
  }

  ServerUnaryReactor* GetSession(CallbackServerContext* context,
                                 const v1::GetSessionRequest* request,
                                 v1::GetSessionResponse* response) override {
    return Answer(context, [&](Finisher finish) {
      const absl::StatusOr<std::shared_ptr<Session>> session = Find(*request);
      if (!session.ok()) return finish(session.status());
      // After what is being decided right now, so that a caller that saw a
      // decision also sees its state.
      (*session)->Look(
          [response, finish](const absl::StatusOr<SessionSnapshot>& snapshot) {
            if (snapshot.ok()) ToProto(*snapshot, response->mutable_session());
            finish(snapshot.status());
          });
    });
  }

  ServerUnaryReactor* ListSessions(
      CallbackServerContext* context, const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override {
    return Answer(context,
                  [&](Finisher finish) { finish(List(*request, response)); });
  }

  ServerUnaryReactor* DeleteSession(
      CallbackServerContext* context, const v1::DeleteSessionRequest* request,
      v1::DeleteSessionResponse* /*response*/) override {
    return Answer(context, [&](Finisher finish) {
      registry()->Delete(request->session(), request->session_uid(),
                         request->request_id(), finish);
    });
  }

  ServerUnaryReactor* RestoreSession(
      CallbackServerContext* context, const v1::RestoreSessionRequest* request,
      v1::RestoreSessionResponse* response) override {
    return Answer(context, [&](Finisher finish) {
      const absl::StatusOr<std::shared_ptr<Session>> session = Find(*request);
      if (!session.ok()) return finish(session.status());
      const absl::StatusOr<LossScaler> scaler =
          wire::LossScalerFromProto(request->state());
      if (!scaler.ok()) return finish(scaler.status());
      std::optional<std::int64_t> if_epoch;
      if (request->has_if_epoch()) if_epoch = request->if_epoch();
      (*session)->Restore(
          *scaler, if_epoch, request->request_id(),
          [response, finish](const absl::StatusOr<RestoreAnswer>& answer) {
            if (answer.ok()) {
              wire::ToProto(answer->decision, response->mutable_decision());
              ToProto(answer->snapshot, response->mutable_session());
            }
            finish(answer.status());
          });
    });
  }

  ServerUnaryReactor* ScaleLoss(CallbackServerContext* context,
                                const v1::ScaleLossRequest* request,
                                v1::ScaleLossResponse* response) override {
    return Answer(context, [&](Finisher finish) {
      finish(ScaleLosses(*request, response));
    });
  }

  grpc::ServerBidiReactor<v1::UnscaleRequest, v1::UnscaleResponse>* Unscale(
      CallbackServerContext* context) override {
    if (absl::Status status = dependencies_.gate->Enter(); !status.ok()) {
      return new RefusedStream(status);
    }
    return new UnscaleReactor(context, {.registry = registry(),
                                        .admission = &admission_,
                                        .watchdog = &watchdog_,
                                        .gate = dependencies_.gate});
  }

  ServerUnaryReactor* Update(CallbackServerContext* context,
                             const v1::UpdateRequest* request,
                             v1::UpdateResponse* response) override {
    return Answer(context, [&](Finisher finish) {
      const absl::StatusOr<std::shared_ptr<Session>> session = Find(*request);
      if (!session.ok()) return finish(session.status());
      absl::StatusOr<Vote> vote = wire::VoteFromRequest(*request);
      if (!vote.ok()) return finish(vote.status());
      std::optional<std::int64_t> step;
      if (request->has_step()) step = request->step();
      (*session)->Update(
          step, *std::move(vote),
          [response, finish](const absl::StatusOr<UpdateAnswer>& answer) {
            if (answer.ok()) {
              wire::ToProto(answer->decision, response->mutable_decision());
              wire::ToProto(answer->current, response->mutable_current());
            }
            finish(answer.status());
          });
    });
  }

  ServerUnaryReactor* GetServerInfo(
      CallbackServerContext* context,
      const v1::GetServerInfoRequest* /*request*/,
      v1::GetServerInfoResponse* response) override {
    return Answer(context, [&](Finisher finish) {
      const Limits& limits = dependencies_.limits;
      response->set_version(dependencies_.version);
      v1::ServerLimits* proto = response->mutable_limits();
      proto->set_max_sessions(limits.max_sessions);
      proto->set_max_unscale_streams(limits.max_unscale_streams);
      proto->set_max_bytes_in_flight(limits.max_bytes_in_flight);
      proto->set_max_tensors_per_stream(limits.max_tensors_per_stream);
      proto->set_max_chunk_bytes(kMaxChunkBytes);
      proto->set_max_losses_per_call(limits.max_losses_per_call);
      proto->set_replayable_decisions(kReplayableDecisions);
      proto->set_unscale_idle_millis(
          absl::ToInt64Milliseconds(limits.unscale_idle));
      response->set_store(std::string(dependencies_.store->name()));
      response->set_durability(std::string(dependencies_.store->durability()));
      response->set_start_count(dependencies_.store->start_count());
      response->set_sessions(registry()->size());
      finish(absl::OkStatus());
    });
  }

 private:
  using Finisher = std::function<void(const absl::Status&)>;

  class RefusedStream final
      : public grpc::ServerBidiReactor<v1::UnscaleRequest,
                                       v1::UnscaleResponse> {
   public:
    explicit RefusedStream(const absl::Status& status) {
      Finish(ToGrpcStatus(status));
    }
    void OnDone() override { delete this; }
  };

  Registry* registry() const { return dependencies_.registry; }

  template <typename Request>
  absl::StatusOr<std::shared_ptr<Session>> Find(const Request& request) const {
    return registry()->Find(request.session(), request.session_uid());
  }

  // Runs a handler between the gate's doors. The handler calls what it is
  // given exactly once, now or later, on any thread; request and response live
  // until then.
  template <typename Handler>
  ServerUnaryReactor* Answer(CallbackServerContext* context,
                             const Handler& handler) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    CallGate* gate = dependencies_.gate;
    if (absl::Status status = gate->Enter(); !status.ok()) {
      reactor->Finish(ToGrpcStatus(status));
      return reactor;
    }
    handler([reactor, gate](const absl::Status& status) {
      reactor->Finish(ToGrpcStatus(status));
      gate->Leave();
    });
    return reactor;
  }

  absl::Status List(const v1::ListSessionsRequest& request,
                    v1::ListSessionsResponse* response) const {
    if (request.page_size() < 0 || request.page_size() > kMaxPageSize) {
      return BadField("page_size", absl::StrCat(request.page_size()),
                      absl::StrCat("it must be between 0 and ", kMaxPageSize));
    }
    // A page token is the last name of the page before.
    if (!request.page_token().empty() &&
        (!ValidateSessionName(request.page_token()).ok() ||
         !std::string_view(request.page_token())
              .starts_with(request.prefix()))) {
      return BadField("page_token", Quoted(request.page_token()),
                      "use the next_page_token of the page before, with the "
                      "same prefix");
    }
    const int limit =
        request.page_size() == 0 ? kDefaultPageSize : request.page_size();
    const std::vector<std::shared_ptr<Session>> sessions =
        registry()->List(request.prefix(), request.page_token(), limit + 1);
    std::size_t bytes = 0;
    int taken = 0;
    for (const std::shared_ptr<Session>& session : sessions) {
      if (taken == limit || bytes > kMaxPageBytes) {
        response->set_next_page_token(
            sessions[static_cast<std::size_t>(taken) - 1]->name());
        break;
      }
      ++taken;
      const std::optional<SessionSnapshot> snapshot = session->Snapshot();
      if (!snapshot) continue;
      v1::Session* proto = response->add_sessions();
      ToProto(*snapshot, proto);
      bytes += proto->ByteSizeLong();
    }
    return absl::OkStatus();
  }

  absl::Status ScaleLosses(const v1::ScaleLossRequest& request,
                           v1::ScaleLossResponse* response) const {
    const absl::StatusOr<std::shared_ptr<Session>> session = Find(request);
    if (!session.ok()) return session.status();
    if (request.losses_size() > dependencies_.limits.max_losses_per_call) {
      return MakeError(
          Reason::kTooManyLosses,
          absl::StrCat("the call has ", request.losses_size(),
                       " losses, the limit is ",
                       dependencies_.limits.max_losses_per_call,
                       "; send fewer in one call"),
          {{"losses", absl::StrCat(request.losses_size())},
           {"limit", absl::StrCat(dependencies_.limits.max_losses_per_call)}});
    }
    ElementType loss_type = ElementType::kFloat32;
    if (request.loss_type() != v1::ELEMENT_TYPE_UNSPECIFIED) {
      const absl::StatusOr<ElementType> type =
          wire::ElementTypeFromProto(request.loss_type(), "loss_type");
      if (!type.ok()) return type.status();
      loss_type = *type;
    }
    std::optional<std::int64_t> step;
    if (request.has_step()) step = request.step();
    const absl::StatusOr<StepScale> scale = (*session)->ScaleOf(step);
    if (!scale.ok()) return scale.status();
    response->set_scale(scale->scale);
    response->set_step(scale->step);
    response->set_epoch(scale->epoch);
    response->mutable_scaled_losses()->Reserve(request.losses_size());
    for (int i = 0; i < request.losses_size(); ++i) {
      const float loss = request.losses(i);
      const float scaled = loss * static_cast<float>(scale->scale);
      response->add_scaled_losses(scaled);
      if (!std::isfinite(loss)) {
        response->add_non_finite_losses(i);
      } else if (!IsFiniteIn(loss_type, scaled)) {
        response->add_overflowing_losses(i);
      }
    }
    return absl::OkStatus();
  }

  const ServiceDependencies dependencies_;
  StreamAdmission admission_;
  IdleWatchdog watchdog_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLossScalerService(
    const ServiceDependencies& dependencies) {
  return std::make_unique<LossScalerServiceImpl>(dependencies);
}

}  // namespace lossscaler::server
