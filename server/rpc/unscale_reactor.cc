// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/unscale_reactor.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/error.h"
#include "rpc/grpc_status.h"
#include "rpc/translate.h"
#include "rpc/unscale_messages.h"

namespace lossscaler::server {

UnscaleReactor::UnscaleReactor(grpc::CallbackServerContext* context,
                               std::unique_ptr<Call> call,
                               const Environment& environment)
    : context_(context), call_(std::move(call)), environment_(environment) {
  const absl::Status admitted = environment_.admission->Enter();
  if (!admitted.ok()) {
    environment_.gate->refusals().Refuse(
        [this, admitted] { Finish(admitted); });
    return;
  }
  if (environment_.spare_threads != nullptr) environment_.spare_threads->Need();
  pump_.emplace(static_cast<ChunkPump::Transport*>(this));
  watch_ = environment_.watchdog->Watch([this] { return EndIdle(); });
  pump_->Start();
}

void UnscaleReactor::OnReadDone(bool ok) {
  environment_.watchdog->Touch(watch_);
  if (!ok) {
    // A call that breaks ends its messages as a half-close does.
    return context_->IsCancelled() ? pump_->Abandon() : pump_->TakeEnd();
  }
  absl::StatusOr<ReceivedMessage> message = ReadMessage(&incoming_);
  if (!message.ok()) return pump_->TakeError(message.status());
  if (auto* chunk = std::get_if<ReceivedChunk>(&*message)) {
    return pump_->TakeChunk(chunk->tensor, chunk->offset,
                            std::move(chunk->payload));
  }
  pump_->TakeOpen([&] {
    // Its tensors are converted; the message, which is many times their size
    // when it lists many ranges, must not stay while chunks come.
    const v1::UnscaleOpen open = std::get<v1::UnscaleOpen>(*std::move(message));
    return Open(open);
  });
}

void UnscaleReactor::OnWriteDone(bool ok) {
  // Before the next answer is computed: gRPC has let go of its slices, and now
  // so do we.
  outgoing_.Clear();
  environment_.watchdog->Touch(watch_);
  pump_->Written(ok);
}

void UnscaleReactor::OnCancel() {
  if (pump_.has_value()) pump_->Abandon();
}

void UnscaleReactor::OnDone() {
  if (pump_.has_value()) {
    environment_.watchdog->Forget(watch_);
    // Everything is given back before the gate says that the call is over.
    outgoing_.Clear();
    pump_.reset();
    environment_.admission->Leave();
    if (environment_.spare_threads != nullptr) {
      environment_.spare_threads->NeedNoMore();
    }
  }
  environment_.gate->Leave();
  delete this;
}

void UnscaleReactor::StartRead() { ServerBidiReactor::StartRead(&incoming_); }

void UnscaleReactor::StartWrite(ChunkPump::Answer answer) {
  outgoing_ = WriteMessage(std::move(answer));
  ServerBidiReactor::StartWrite(&outgoing_);
}

void UnscaleReactor::Finish(const absl::Status& status) {
  call_->End(status);
  ServerBidiReactor::Finish(ToGrpcStatus(status));
}

absl::StatusOr<std::unique_ptr<UnscaleStream>> UnscaleReactor::Open(
    const v1::UnscaleOpen& open) {
  call_->Name(open.worker(),
              open.has_step() ? std::optional(open.step()) : std::nullopt);
  if (absl::Status status = call_->Admit(open.session()); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::shared_ptr<Session>> session =
      environment_.registry->Find(open.session(), open.session_uid());
  if (!session.ok()) return session.status();
  if (absl::Status status =
          environment_.admission->CheckTensorCount(open.tensors_size());
      !status.ok()) {
    return status;
  }
  absl::StatusOr<StreamOpen> spec = StreamOpenFromProto(open);
  if (!spec.ok()) return spec.status();
  return UnscaleStream::Open(*std::move(session), *std::move(spec),
                             environment_.admission);
}

bool UnscaleReactor::EndIdle() {
  const std::string limit =
      absl::FormatDuration(environment_.admission->limits().unscale_idle);
  switch (pump_->EndIdle(
      MakeError(Reason::kStreamIdle,
                absl::StrCat("nothing was sent on this stream for ", limit,
                             "; open a new stream for what was not answered"),
                {{"idle_limit", limit}}))) {
    case ChunkPump::Idleness::kNone:
      return false;
    case ChunkPump::Idleness::kNotSent:
      break;
    case ChunkPump::Idleness::kNotTaken:
      // A status would queue behind the answer, so the call is cut.
      context_->TryCancel();
      break;
  }
  return true;
}

}  // namespace lossscaler::server
