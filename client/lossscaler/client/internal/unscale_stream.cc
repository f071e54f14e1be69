// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/unscale_stream.h"

#include <utility>

#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/wire/convert.h"

namespace lossscaler::internal {
namespace {

VerdictAnswer TakeApart(const v1::ChunkVerdict& verdict) {
  return {.overflow = verdict.overflow(),
          .has_statistics =
              verdict.has_sum_of_squares() && verdict.has_absolute_maximum(),
          .verdict = wire::VerdictFromProto(verdict, /*element_count=*/0)};
}

}  // namespace

UnscaleStream::UnscaleStream(UnscalePump* pump, v1::UnscaleOpen open)
    : pump_(pump) {
  *request_.mutable_open() = std::move(open);
}

absl::Status UnscaleStream::Run(Stub* stub, const ClientOptions& options,
                                absl::Duration stall_timeout) {
  AddToken(options, &context_);
  stub->Unscale(&context_, this);
  StartWrite(&request_);
  StartRead(&response_);
  StartCall();
  return pump_->WaitForStream(stall_timeout, [this] { context_.TryCancel(); });
}

// A read is outstanding until the stream ends, so writes that are started from
// a reaction never outlive the call and need no hold.
void UnscaleStream::StartNextWrite() {
  OutgoingChunk chunk;
  switch (pump_->TakeWrite(&chunk)) {
    case Write::kNothing:
      return;
    case Write::kChunk: {
      v1::UnscaleChunk* message = request_.mutable_chunk();
      message->set_tensor(chunk.tensor);
      message->set_offset(chunk.offset);
      message->set_data(std::move(chunk.data));
      StartWrite(&request_);
      return;
    }
    case Write::kHalfClose:
      StartWritesDone();
      return;
  }
}

void UnscaleStream::OnWriteDone(bool ok) {
  if (!ok) return;  // OnDone() says why.
  pump_->WriteDone();
  StartNextWrite();
}

bool UnscaleStream::Deliver() {
  switch (response_.message_case()) {
    case v1::UnscaleResponse::kOpened: {
      const v1::UnscaleOpened& opened = response_.opened();
      return pump_->OnOpened({.scale = opened.scale(),
                              .step = opened.step(),
                              .epoch = opened.epoch(),
                              .max_chunk_bytes = opened.max_chunk_bytes()});
    }
    case v1::UnscaleResponse::kChunk: {
      const v1::UnscaledChunk& chunk = response_.chunk();
      return pump_->OnChunk({.tensor = chunk.tensor(),
                             .offset = chunk.offset(),
                             .verdict = TakeApart(chunk.verdict()),
                             .data = chunk.data()});
    }
    case v1::UnscaleResponse::kSummary: {
      const v1::UnscaleSummary& summary = response_.summary();
      return pump_->OnSummary({.verdict = TakeApart(summary.verdict()),
                               .element_count = summary.element_count()});
    }
    case v1::UnscaleResponse::MESSAGE_NOT_SET:
      break;
  }
  return pump_->OnUnknown();
}

void UnscaleStream::OnReadDone(bool ok) {
  if (!ok) return;  // OnDone() says why.
  if (!Deliver()) {
    context_.TryCancel();
    return;
  }
  // The write first: once a read is started again, the next answer may come
  // on another thread.
  StartNextWrite();
  StartRead(&response_);
}

void UnscaleStream::OnDone(const grpc::Status& status) {
  pump_->OnStreamDone(FromGrpc(status));
}

}  // namespace lossscaler::internal
