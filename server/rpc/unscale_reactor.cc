// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/unscale_reactor.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/error.h"
#include "lossscaler/wire/convert.h"
#include "rpc/grpc_status.h"
#include "rpc/translate.h"

namespace lossscaler::server {

UnscaleReactor::UnscaleReactor(grpc::CallbackServerContext* context,
                               const Environment& environment)
    : context_(context), environment_(environment) {
  const absl::Status admitted = environment_.admission->Enter();
  if (!admitted.ok()) {
    FinishOnce(admitted);
    return;
  }
  admitted_ = true;
  if (environment_.spare_threads != nullptr) environment_.spare_threads->Need();
  watch_ = environment_.watchdog->Watch([this] { return EndIdle(); });
  StartRead(&request_);
}

void UnscaleReactor::OnReadDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    if (finished_) return;
    phase_ = Phase::kWorking;
  }
  environment_.watchdog->Touch(watch_);
  // A call that breaks ends its messages as a half-close does.
  if (!ok && context_->IsCancelled()) return OnCancel();
  if (!ok) return TakeEnd();
  switch (request_.message_case()) {
    case v1::UnscaleRequest::kOpen: {
      // Its tensors are converted; the message, which is many times their size
      // when it lists many ranges, must not stay as long as the stream does.
      v1::UnscaleRequest request;
      request.Swap(&request_);
      return TakeOpen(request.open());
    }
    case v1::UnscaleRequest::kChunk:
      return TakeChunk(request_.chunk());
    case v1::UnscaleRequest::MESSAGE_NOT_SET:
      break;
  }
  FinishOnce(MakeError(Reason::kEmptyMessage,
                       "a message of the stream is empty; set open or chunk"));
}

void UnscaleReactor::TakeOpen(const v1::UnscaleOpen& open) {
  if (stream_ != nullptr) {
    return FinishOnce(
        MakeError(Reason::kOpenedTwice,
                  "the stream was opened twice; send `open` once, first"));
  }
  absl::StatusOr<std::shared_ptr<Session>> session =
      environment_.registry->Find(open.session(), open.session_uid());
  if (!session.ok()) return FinishOnce(session.status());
  if (absl::Status status =
          environment_.admission->CheckTensorCount(open.tensors_size());
      !status.ok()) {
    return FinishOnce(status);
  }
  absl::StatusOr<StreamOpen> spec = StreamOpenFromProto(open);
  if (!spec.ok()) return FinishOnce(spec.status());
  absl::StatusOr<std::unique_ptr<UnscaleStream>> stream = UnscaleStream::Open(
      *std::move(session), *std::move(spec), environment_.admission);
  if (!stream.ok()) return FinishOnce(stream.status());
  stream_ = *std::move(stream);

  v1::UnscaleOpened* opened = response_.mutable_opened();
  opened->set_scale(stream_->scale().scale);
  opened->set_step(stream_->scale().step);
  opened->set_epoch(stream_->scale().epoch);
  opened->set_max_chunk_bytes(stream_->max_chunk_bytes());
  Answer();
}

void UnscaleReactor::TakeChunk(const v1::UnscaleChunk& chunk) {
  if (stream_ == nullptr) {
    return FinishOnce(
        MakeError(Reason::kChunkBeforeOpen,
                  "a chunk came before `open`; send `open` first"));
  }
  v1::UnscaledChunk* answer = response_.mutable_chunk();
  const absl::StatusOr<UnscaleVerdict> verdict = stream_->Chunk(
      chunk.tensor(), chunk.offset(), chunk.data(), answer->mutable_data());
  if (!verdict.ok()) return FinishOnce(verdict.status());
  answer->set_tensor(chunk.tensor());
  answer->set_offset(chunk.offset());
  answer->clear_verdict();
  wire::ToProto(*verdict, stream_->statistics(), answer->mutable_verdict());
  Answer();
}

void UnscaleReactor::TakeEnd() {
  if (stream_ == nullptr) {
    return FinishOnce(
        MakeError(Reason::kChunkBeforeOpen,
                  "the stream was closed before `open`; send `open` first"));
  }
  const absl::StatusOr<StreamSummary> summary = stream_->Finish();
  if (!summary.ok()) return FinishOnce(summary.status());
  ending_ = true;
  ToProto(*summary, stream_->statistics(), response_.mutable_summary());
  Answer();
}

void UnscaleReactor::Answer() {
  MutexLock lock(&mutex_);
  if (finished_) return;
  phase_ = Phase::kWriting;
  StartWrite(&response_);
}

void UnscaleReactor::OnWriteDone(bool ok) {
  if (!ok) {
    return FinishOnce(absl::CancelledError("the client has gone away"));
  }
  if (ending_) {
    summary_sent_ = true;
    return FinishOnce(absl::OkStatus());
  }
  environment_.watchdog->Touch(watch_);
  MutexLock lock(&mutex_);
  if (finished_) return;
  phase_ = Phase::kReading;
  StartRead(&request_);
}

bool UnscaleReactor::EndIdle() {
  {
    MutexLock lock(&mutex_);
    if (finished_) return true;
    if (phase_ == Phase::kWorking) return false;
    if (phase_ == Phase::kWriting) {
      // The client does not read. A status would queue behind the answer that
      // it does not take, so the call is cut.
      context_->TryCancel();
      return true;
    }
  }
  const std::string limit =
      absl::FormatDuration(environment_.admission->limits().unscale_idle);
  FinishOnce(
      MakeError(Reason::kStreamIdle,
                absl::StrCat("nothing was sent on this stream for ", limit,
                             "; open a new stream for what was not answered"),
                {{"idle_limit", limit}}));
  return true;
}

void UnscaleReactor::OnCancel() {
  FinishOnce(absl::CancelledError("the call was cancelled"));
}

void UnscaleReactor::OnDone() {
  if (admitted_) environment_.watchdog->Forget(watch_);
  if (ending_ && !summary_sent_) stream_->Retract();
  // Everything is given back before the gate says that the call is over.
  stream_.reset();
  if (admitted_) environment_.admission->Leave();
  if (admitted_ && environment_.spare_threads != nullptr) {
    environment_.spare_threads->NeedNoMore();
  }
  environment_.gate->Leave();
  delete this;
}

void UnscaleReactor::FinishOnce(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (finished_) return;
    finished_ = true;
  }
  Finish(ToGrpcStatus(status));
}

}  // namespace lossscaler::server
