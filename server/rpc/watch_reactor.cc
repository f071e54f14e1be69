// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/watch_reactor.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/decision_convert.h"
#include "rpc/grpc_status.h"
#include "rpc/unary_call.h"

namespace lossscaler::server {

WatchReactor::WatchReactor(grpc::CallbackServerContext* context,
                           std::unique_ptr<Call> call,
                           const Environment& environment)
    : context_(context),
      call_(std::move(call)),
      environment_(environment),
      idle_(environment.watchdog->Watch([this] { return EndIdle(); })) {}

void WatchReactor::Start(const v1::WatchSessionRequest& request) {
  absl::StatusOr<std::unique_ptr<DecisionWatch>> watch = Watch(request);
  if (!admitted_) {
    return environment_.gate->refusals().Refuse(
        [this, status = watch.status()] { End(status); });
  }
  if (!watch.ok()) return End(watch.status());
  watch_ = *std::move(watch);
  watch_->Next(
      [this](const absl::StatusOr<Decision>& decision) { Take(decision); });
}

absl::StatusOr<std::unique_ptr<DecisionWatch>> WatchReactor::Watch(
    const v1::WatchSessionRequest& request) {
  if (absl::Status status = Admit(); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<Session>> session =
      FindSession(environment_.registry, request);
  if (!session.ok()) return session.status();
  return (*session)->Watch(request.from_step());
}

absl::Status WatchReactor::Admit() {
  admitted_ = environment_.places->TryTake(1);
  if (admitted_) return absl::OkStatus();
  return MakeRetryableError(
      Reason::kTooManyStreams,
      absl::StrCat("the server has ", environment_.places->limit(),
                   " watchers, which is its limit; watch again later"),
      environment_.limits.retry_delay,
      {{"limit", absl::StrCat(environment_.places->limit())},
       {"open", absl::StrCat(environment_.places->taken())}});
}

void WatchReactor::Take(const absl::StatusOr<Decision>& decision) {
  if (!decision.ok()) return End(decision.status());
  wire::ToProto(*decision, response_.mutable_decision());
  ++begun_;
  StartWrite(&response_);
}

void WatchReactor::OnWriteDone(bool ok) {
  ++done_;
  if (!ok) return End(absl::CancelledError("the client has gone away"));
  watch_->Next(
      [this](const absl::StatusOr<Decision>& decision) { Take(decision); });
}

void WatchReactor::OnCancel() {
  if (watch_ != nullptr) watch_->Cancel();
}

void WatchReactor::OnDone() {
  environment_.watchdog->Forget(idle_);
  watch_.reset();
  environment_.gate->LeaveLasting();
  delete this;
}

void WatchReactor::End(const absl::Status& status) {
  // Before the client can know, who may watch again at once.
  if (admitted_) environment_.places->Return(1);
  call_->End(status);
  Finish(ToGrpcStatus(status));
}

bool WatchReactor::EndIdle() {
  const int begun = begun_;
  const bool stuck = begun == seen_ && done_ < begun;
  seen_ = begun;
  // A status would queue behind the decision that the client does not take.
  if (stuck) context_->TryCancel();
  return stuck;
}

}  // namespace lossscaler::server
