// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/calls/caller.h"

#include <optional>
#include <utility>

#include "bench/calls/ping.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "lossscaler/v1/loss_scaler_service.grpc.pb.h"

namespace lossscaler::bench {
namespace {

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

class PingCaller : public Caller {
 public:
  explicit PingCaller(std::shared_ptr<grpc::Channel> channel)
      : stub_(Ping::NewStub(std::move(channel))) {}

  void Call(Done done) override {
    context_.emplace();
    stub_->async()->Ping(&*context_, &request_, &response_,
                         [done = std::move(done)](const grpc::Status& status) {
                           done(ToAbsl(status));
                         });
  }

 private:
  const std::unique_ptr<Ping::Stub> stub_;
  std::optional<grpc::ClientContext> context_;
  PingRequest request_;
  PingResponse response_;
};

// One who has a session.
class SessionCaller : public Caller {
 public:
  explicit SessionCaller(std::shared_ptr<grpc::Channel> channel)
      : stub_(v1::LossScalerService::NewStub(std::move(channel))) {}

  absl::StatusOr<v1::Session> Open(const std::string& session) {
    v1::CreateSessionRequest request;
    request.set_session(session);
    v1::DynamicScaler* const scaler =
        request.mutable_scaler()->mutable_dynamic();
    scaler->set_scale(65536);
    scaler->set_growth_factor(2);
    scaler->set_backoff_factor(0.5);
    scaler->set_growth_interval(2000);
    v1::CreateSessionResponse response;
    const grpc::Status status =
        stub_->CreateSession(&NewContext(), request, &response);
    if (!status.ok()) return ToAbsl(status);
    return response.session();
  }

 protected:
  v1::LossScalerService::Stub::async_interface* stub() {
    return stub_->async();
  }

  grpc::ClientContext& NewContext() { return context_.emplace(); }

 private:
  const std::unique_ptr<v1::LossScalerService::Stub> stub_;
  std::optional<grpc::ClientContext> context_;
};

class ScaleLossCaller : public SessionCaller {
 public:
  using SessionCaller::SessionCaller;

  absl::Status Start(const std::string& session) {
    const absl::StatusOr<v1::Session> opened = Open(session);
    if (!opened.ok()) return opened.status();
    request_.set_session(session);
    request_.set_session_uid(opened->uid());
    request_.set_step(opened->current().step());
    request_.add_losses(0.25F);
    return absl::OkStatus();
  }

  void Call(Done done) override {
    stub()->ScaleLoss(
        &NewContext(), &request_, &response_,
        [this, done = std::move(done)](const grpc::Status& status) {
          done(status.ok() ? Check() : ToAbsl(status));
        });
  }

 private:
  absl::Status Check() const {
    if (response_.scaled_losses_size() == 1 &&
        response_.scaled_losses(0) == 16384) {
      return absl::OkStatus();
    }
    return absl::InternalError("a loss of 1/4 at scale 65536 is not 16384");
  }

  v1::ScaleLossRequest request_;
  v1::ScaleLossResponse response_;
};

class UpdateCaller : public SessionCaller {
 public:
  using SessionCaller::SessionCaller;

  absl::Status Start(const std::string& session) {
    const absl::StatusOr<v1::Session> opened = Open(session);
    if (!opened.ok()) return opened.status();
    request_.set_session(session);
    request_.set_session_uid(opened->uid());
    request_.set_verdict(v1::VERDICT_FINITE);
    request_.set_sum_of_squares(1);
    Follow(opened->current());
    return absl::OkStatus();
  }

  void Call(Done done) override {
    stub()->Update(&NewContext(), &request_, &response_,
                   [this, done = std::move(done)](const grpc::Status& status) {
                     done(status.ok() ? Check() : ToAbsl(status));
                   });
  }

 private:
  absl::Status Check() {
    const v1::Decision& decision = response_.decision();
    if (decision.step() != request_.step() ||
        decision.outcome() != v1::OUTCOME_APPLY) {
      return absl::InternalError("a step of a finite vote was not applied");
    }
    Follow(response_.current());
    return absl::OkStatus();
  }

  void Follow(const v1::Current& current) {
    request_.set_step(current.step());
    request_.set_scale_used(current.scale());
    request_.mutable_base()->set_session_uid(request_.session_uid());
    request_.mutable_base()->set_step(current.base());
  }

  v1::UpdateRequest request_;
  v1::UpdateResponse response_;
};

template <typename SomeCaller>
absl::StatusOr<std::unique_ptr<Caller>> Make(
    std::shared_ptr<grpc::Channel> channel, const std::string& session) {
  auto caller = std::make_unique<SomeCaller>(std::move(channel));
  if (absl::Status status = caller->Start(session); !status.ok()) return status;
  return caller;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Caller>> MakePingCaller(
    std::shared_ptr<grpc::Channel> channel, const std::string& /*session*/) {
  return std::make_unique<PingCaller>(std::move(channel));
}

absl::StatusOr<std::unique_ptr<Caller>> MakeScaleLossCaller(
    std::shared_ptr<grpc::Channel> channel, const std::string& session) {
  return Make<ScaleLossCaller>(std::move(channel), session);
}

absl::StatusOr<std::unique_ptr<Caller>> MakeUpdateCaller(
    std::shared_ptr<grpc::Channel> channel, const std::string& session) {
  return Make<UpdateCaller>(std::move(channel), session);
}

}  // namespace lossscaler::bench
