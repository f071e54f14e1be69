// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/flood/flooder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/client_callback.h"

namespace lossscaler::bench {
namespace {

using Stub = v1::LossScalerService::Stub;
using Done = std::function<void(const absl::Status&)>;

constexpr char kSession[] = "flood";

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

template <typename Request, typename Response>
struct Call {
  grpc::ClientContext context;
  Request request;
  Response response;
};

void CreateOne(Stub* stub, const Done& done) {
  auto call = std::make_shared<
      Call<v1::CreateSessionRequest, v1::CreateSessionResponse>>();
  call->request.set_session("one-too-many");
  call->request.mutable_scaler()->mutable_none();
  stub->async()->CreateSession(
      &call->context, &call->request, &call->response,
      [call, done](const grpc::Status& status) { done(ToAbsl(status)); });
}

void ScaleOne(Stub* stub, const Done& done) {
  auto call =
      std::make_shared<Call<v1::ScaleLossRequest, v1::ScaleLossResponse>>();
  call->request.set_session(kSession);
  call->request.add_losses(0.25F);
  stub->async()->ScaleLoss(
      &call->context, &call->request, &call->response,
      [call, done](const grpc::Status& status) { done(ToAbsl(status)); });
}

// Begins a stream, and waits for its end.
class Stream final
    : public grpc::ClientBidiReactor<v1::UnscaleRequest, v1::UnscaleResponse> {
 public:
  Stream(Stub* stub, Done done) : done_(std::move(done)) {
    stub->async()->Unscale(&context_, this);
    StartWritesDone();
    StartRead(&response_);
    StartCall();
  }

 private:
  void OnDone(const grpc::Status& status) override {
    const Done done = std::move(done_);
    delete this;
    done(ToAbsl(status));
  }

  Done done_;
  grpc::ClientContext context_;
  v1::UnscaleResponse response_;
};

bool IsExpected(FloodKind kind, const absl::Status& status) {
  if (kind == FloodKind::kAnswered) return status.ok();
  // Now and then a stream finds a place, and has nothing to say.
  return status.code() == absl::StatusCode::kResourceExhausted ||
         status.code() == absl::StatusCode::kInvalidArgument;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Flooder>> Flooder::Connect(
    FloodKind kind, const std::string& address, int connections, int calls) {
  std::unique_ptr<Flooder> flooder(new Flooder(kind, calls));
  for (int i = 0; i < connections; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    flooder->stubs_.push_back(
        v1::LossScalerService::NewStub(grpc::CreateCustomChannel(
            address, grpc::InsecureChannelCredentials(), arguments)));
  }
  if (kind == FloodKind::kAnswered) {
    if (absl::Status status = flooder->CreateSession(); !status.ok()) {
      return status;
    }
  }
  return flooder;
}

absl::Status Flooder::CreateSession() {
  grpc::ClientContext context;
  v1::CreateSessionRequest request;
  request.set_session(kSession);
  request.mutable_scaler()->mutable_static_()->set_scale(3);
  v1::CreateSessionResponse response;
  return ToAbsl(stubs_.front()->CreateSession(&context, request, &response));
}

void Flooder::Start() {
  {
    MutexLock lock(&mutex_);
    flooding_ = true;
    answered_ = 0;
  }
  for (const std::unique_ptr<Stub>& stub : stubs_) {
    for (int i = 0; i < calls_; ++i) Next(stub.get(), i);
  }
}

absl::StatusOr<std::int64_t> Flooder::Stop() {
  MutexLock lock(&mutex_);
  flooding_ = false;
  while (under_way_ > 0) ended_.Wait(&mutex_);
  if (!wrong_.ok()) return wrong_;
  return answered_;
}

void Flooder::Next(Stub* stub, int number) {
  {
    MutexLock lock(&mutex_);
    if (!flooding_) return;
    ++under_way_;
  }
  const Done done = [this, stub, number](const absl::Status& status) {
    Answered(stub, number, status);
  };
  if (kind_ == FloodKind::kAnswered) return ScaleOne(stub, done);
  if (number % 2 == 0) return CreateOne(stub, done);
  // It deletes itself.
  new Stream(stub, done);
}

void Flooder::Answered(Stub* stub, int number, const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    ++answered_;
    if (!IsExpected(kind_, status)) {
      wrong_ = absl::InternalError(
          absl::StrCat("a call of the flood was answered ", status.ToString()));
    }
  }
  Next(stub, number);
  MutexLock lock(&mutex_);
  if (--under_way_ == 0) ended_.SignalAll();
}

}  // namespace lossscaler::bench
