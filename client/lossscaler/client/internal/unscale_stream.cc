// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/unscale_stream.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "lossscaler/client/internal/bulk_channels.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/reaction_gate.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/wire/chunk_codec.h"
#include "lossscaler/wire/convert.h"

namespace lossscaler::internal {
namespace {

VerdictAnswer TakeApart(const v1::ChunkVerdict& verdict) {
  return {.overflow = verdict.overflow(),
          .has_statistics =
              verdict.has_sum_of_squares() && verdict.has_absolute_maximum(),
          .verdict = wire::VerdictFromProto(verdict, /*element_count=*/0)};
}

// The bytes of a chunk where they are.
grpc::Slice SliceOf(OutgoingChunk chunk) {
  using Buffer = std::shared_ptr<const std::byte>;
  // gRPC wants a pointer that it could write through, and never does.
  return grpc::Slice(
      const_cast<char*>(chunk.data.data()), chunk.data.size(),
      [](void* buffer) { delete static_cast<Buffer*>(buffer); },
      new Buffer(std::move(chunk.buffer)));
}

void RemovePrefix(std::size_t bytes, std::vector<std::string_view>* pieces) {
  for (std::string_view& piece : *pieces) {
    const std::size_t n = std::min(bytes, piece.size());
    piece.remove_prefix(n);
    bytes -= n;
    if (bytes == 0) return;
  }
}

// Owns itself from Start() on, until OnDone().
class UnscaleStream : public Stub::UnscaleReactor,
                      public std::enable_shared_from_this<UnscaleStream> {
 public:
  explicit UnscaleStream(UnscalePump* pump) : pump_(pump) {}

  void Start(v1::UnscaleOpen open, Stub* stub, const ClientOptions& options) {
    self_ = shared_from_this();
    AddToken(options, &context_);
    channel_ = stub->Unscale(&context_, this);
    *request_.mutable_open() = std::move(open);
    const grpc::Slice opening(request_.SerializeAsString());
    outgoing_ = grpc::ByteBuffer(&opening, 1);
    StartWrite(&outgoing_);
    StartRead(&incoming_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void Abandon() {
    gate_.Close();
    if (channel_) channel_->ThrowAway();
  }

 private:
  void OnWriteDone(bool ok) override {
    const ReactionGate::Pass pass(&gate_);
    if (!pass) return;
    // Before another thread may start the next one.
    outgoing_.Clear();
    if (!ok) return;  // OnDone() says why.
    pump_->WriteDone();
    StartNextWrite();
  }

  void OnReadDone(bool ok) override {
    const ReactionGate::Pass pass(&gate_);
    if (!pass || !ok) return;  // OnDone() says why.
    const bool accepted = Deliver();
    slices_.clear();
    incoming_.Clear();
    if (!accepted) {
      context_.TryCancel();
      return;
    }
    // The write first: once a read is started again, the next answer may come
    // on another thread.
    StartNextWrite();
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<UnscaleStream> self = std::move(self_);
    const ReactionGate::Pass pass(&gate_);
    if (!pass) return;
    // Before the next stream may look for one.
    channel_.reset();
    pump_->OnStreamDone(FromGrpc(status));
  }

  // A read is outstanding until the stream ends, so writes that are started
  // from a reaction never outlive the call and need no hold.
  void StartNextWrite() {
    OutgoingChunk chunk;
    switch (pump_->TakeWrite(&chunk)) {
      case Write::kNothing:
        return;
      case Write::kChunk: {
        v1::UnscaleChunk* message = request_.mutable_chunk();
        message->set_tensor(chunk.tensor);
        message->set_offset(chunk.offset);
        const grpc::Slice slices[] = {
            wire::ChunkHeadOf(request_, chunk.data.size()),
            SliceOf(std::move(chunk))};
        outgoing_ = grpc::ByteBuffer(slices, std::size(slices));
        StartWrite(&outgoing_);
        return;
      }
      case Write::kHalfClose:
        StartWritesDone();
        return;
    }
  }

  // Takes the answer in incoming_ apart: all but its payload into response_.
  // Returns the payload, which lies in either, or nothing if this is no message
  // at all.
  std::optional<Fragments> Parse() {
    if (!incoming_.Dump(&slices_).ok()) return std::nullopt;
    pieces_.clear();
    for (const grpc::Slice& slice : slices_) {
      pieces_.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                           slice.size());
    }
    if (const auto head = wire::ReadChunk(pieces_, &response_)) {
      RemovePrefix(head->bytes, &pieces_);
      return pieces_;
    }
    using Traits = grpc::SerializationTraits<v1::UnscaleResponse>;
    if (!Traits::Deserialize(&incoming_, &response_).ok()) return std::nullopt;
    pieces_.assign(1, response_.chunk().data());
    return pieces_;
  }

  // Hands an answer to the pump; false if it refuses it.
  bool Deliver() {
    const std::optional<Fragments> data = Parse();
    if (!data) return pump_->OnUnreadable();
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
                               .data = *data});
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

  // Only by whoever has passed the gate.
  UnscalePump* const pump_;
  ReactionGate gate_;

  std::shared_ptr<UnscaleStream> self_;
  grpc::ClientContext context_;
  std::unique_ptr<HeldChannel> channel_;

  // The writer's.
  v1::UnscaleRequest request_;
  grpc::ByteBuffer outgoing_;

  // The reader's. Pieces view slices, or response_.
  grpc::ByteBuffer incoming_;
  std::vector<grpc::Slice> slices_;
  std::vector<std::string_view> pieces_;
  v1::UnscaleResponse response_;
};

}  // namespace

absl::Status RunUnscaleStream(UnscalePump* pump, v1::UnscaleOpen open,
                              Stub* stub, const ClientOptions& options,
                              absl::Duration stall_timeout) {
  const auto stream = std::make_shared<UnscaleStream>(pump);
  stream->Start(std::move(open), stub, options);
  return pump->WaitForStream(
      stall_timeout, [&] { stream->Cancel(); }, [&] { stream->Abandon(); });
}

}  // namespace lossscaler::internal
