// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/step_calls.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/element_type.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/wire/convert.h"
#include "lossscaler/wire/decision_convert.h"
#include "rpc/grpc_status.h"
#include "rpc/translate.h"
#include "rpc/unary_call.h"
#include "sessions/session.h"

namespace lossscaler::server {
namespace {

// Deletes itself when done.
class UpdateReactor final : public grpc::ServerUnaryReactor {
 public:
  UpdateReactor(CallGate* gate, std::unique_ptr<Call> record,
                v1::UpdateResponse* response)
      : gate_(gate), record_(std::move(record)), response_(response) {}

  void Start(Registry* registry, const v1::UpdateRequest& request) {
    PendingCall call = Cast(registry, request);
    std::optional<absl::Status> answer;
    {
      MutexLock lock(&mutex_);
      started_ = true;
      answer = answer_;
      if (!cancelled_) call_ = std::exchange(call, {});
    }
    call.Cancel();
    if (answer) End(*answer);
  }

  void OnCancel() override {
    PendingCall call;
    {
      MutexLock lock(&mutex_);
      cancelled_ = true;
      call = std::exchange(call_, {});
    }
    call.Cancel();
  }

  void OnDone() override {
    gate_->Leave();
    delete this;
  }

 private:
  PendingCall Cast(Registry* registry, const v1::UpdateRequest& request) {
    const absl::StatusOr<std::shared_ptr<Session>> session =
        FindSession(registry, request);
    absl::StatusOr<Vote> vote = wire::VoteFromRequest(request);
    absl::Status status = session.status();
    status.Update(vote.status());
    if (status.ok()) {
      status = TakeWorker(request.worker(), request.incarnation(),
                          &vote->worker, &vote->incarnation);
    }
    if (!status.ok()) {
      Answered(status);
      return {};
    }
    std::optional<std::int64_t> step;
    if (request.has_step()) step = request.step();
    return (*session)->Update(
        step, *std::move(vote),
        [this](const absl::StatusOr<UpdateAnswer>& answer) {
          if (answer.ok()) {
            wire::ToProto(answer->decision, response_->mutable_decision());
            wire::ToProto(answer->current, response_->mutable_current());
          }
          Answered(answer.status());
        });
  }

  void Answered(const absl::Status& status) {
    {
      MutexLock lock(&mutex_);
      if (!started_) {
        answer_ = status;
        return;
      }
    }
    End(status);
  }

  // The last thing that is done with this object, but for OnCancel().
  void End(const absl::Status& status) {
    record_->End(status);
    Finish(ToGrpcStatus(status));
  }

  CallGate* const gate_;
  const std::unique_ptr<Call> record_;
  v1::UpdateResponse* const response_;

  Mutex mutex_;
  // Start() needs the reactor no longer: from then on it may be finished.
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> answer_ ABSL_GUARDED_BY(mutex_);
  PendingCall call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status ScaleLoss(Registry* registry, const Limits& limits,
                       const v1::ScaleLossRequest& request,
                       v1::ScaleLossResponse* response) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(registry, request);
  if (!session.ok()) return session.status();
  if (request.losses_size() > limits.max_losses_per_call) {
    return MakeError(
        Reason::kTooManyLosses,
        absl::StrCat("the call has ", request.losses_size(),
                     " losses, the limit is ", limits.max_losses_per_call,
                     "; send fewer in one call"),
        {{"losses", absl::StrCat(request.losses_size())},
         {"limit", absl::StrCat(limits.max_losses_per_call)}});
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

grpc::ServerUnaryReactor* Update(Registry* registry, CallGate* gate,
                                 std::unique_ptr<Call> call,
                                 const v1::UpdateRequest& request,
                                 v1::UpdateResponse* response) {
  auto* const reactor = new UpdateReactor(gate, std::move(call), response);
  reactor->Start(registry, request);
  return reactor;
}

}  // namespace lossscaler::server
