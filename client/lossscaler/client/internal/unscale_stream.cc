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

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "grpc/support/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "lossscaler/client/internal/bulk_channels.h"
#include "lossscaler/client/internal/call_credentials.h"
#include "lossscaler/client/internal/queue_deadline.h"
#include "lossscaler/client/internal/wire_status.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/sync/mutex.h"
#include "lossscaler/wire/chunk_codec.h"
#include "lossscaler/wire/convert.h"

namespace lossscaler::internal {
namespace {

// For what gRPC may still be at once it has said that a call has ended.
constexpr absl::Duration kSettling = absl::Milliseconds(100);

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

// A call on a completion queue of its own: whoever waits for it carries its
// messages, so that they are handed from no thread to another.
class UnscaleStream {
 public:
  UnscaleStream(UnscalePump* pump, v1::UnscaleOpen open, Stub* stub,
                const ClientOptions& options)
      : pump_(pump) {
    AddHeaders(options, &context_);
    // The headers go out with the first message, and starting is no operation.
    context_.set_initial_metadata_corked(true);
    Stub::BulkCall call = stub->Unscale(&context_, &queue_);
    channel_ = std::move(call.channel);
    rpc_ = std::move(call.rpc);
    rpc_->StartCall(nullptr);
    *request_.mutable_open() = std::move(open);
    const grpc::Slice opening(request_.SerializeAsString());
    Write(grpc::ByteBuffer(&opening, 1));
    Read();
  }

  // REQUIRES: idle().
  ~UnscaleStream() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // Whether gRPC has let go of everything.
  bool idle() const {
    return finished_ && !reading_ && !writing_ && !half_closing_;
  }

  // Until the stream has ended, or an answer was refused.
  void Carry(absl::Duration at_most) {
    refused_ = false;
    const gpr_timespec deadline = After(at_most);
    while (!finished_ && !refused_ && TakeOne(deadline)) {
    }
  }

  // Nothing moves, or nothing good comes.
  void Cancel() { context_.TryCancel(); }

  // Nobody waits for it any more: what is still under way is done with, if gRPC
  // can. It cannot while its peer takes nothing; then nothing else may get this
  // connection.
  void Settle(gpr_timespec deadline) {
    pump_ = nullptr;
    if (!finished_) context_.TryCancel();
    while (!idle() && TakeOne(deadline)) {
    }
    if (!idle() && channel_ != nullptr) channel_->ThrowAway();
  }

 private:
  // Which operation is done. The queue is given, and hands back, the address of
  // one of `tags`.
  enum class Tag { kRead, kWrite, kHalfClose, kFinish };
  static void* ToPointer(Tag tag) {
    static Tag tags[] = {Tag::kRead, Tag::kWrite, Tag::kHalfClose,
                         Tag::kFinish};
    return &tags[static_cast<int>(tag)];
  }

  // Events that are there are taken whatever the time is, so it is asked for.
  bool TakeOne(gpr_timespec deadline) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, deadline) !=
        grpc::CompletionQueue::GOT_EVENT) {
      return false;
    }
    Done(*static_cast<const Tag*>(tag), ok);
    return gpr_time_cmp(gpr_now(deadline.clock_type), deadline) < 0;
  }

  void Done(Tag tag, bool ok) {
    switch (tag) {
      case Tag::kRead:
        reading_ = false;
        // No more comes; the status says why.
        if (!ok) return rpc_->Finish(&status_, ToPointer(Tag::kFinish));
        if (pump_ != nullptr) refused_ = !Deliver();
        slices_.clear();
        incoming_.Clear();
        WriteNext();
        return Read();
      case Tag::kWrite:
        writing_ = false;
        outgoing_.Clear();
        if (!ok || pump_ == nullptr) return;
        pump_->WriteDone();
        return WriteNext();
      case Tag::kHalfClose:
        half_closing_ = false;
        return;
      case Tag::kFinish:
        finished_ = true;
        if (pump_ != nullptr) pump_->OnStreamDone(FromGrpc(status_));
        return;
    }
  }

  void Read() {
    reading_ = true;
    rpc_->Read(&incoming_, ToPointer(Tag::kRead));
  }

  void Write(const grpc::ByteBuffer& message) {
    outgoing_ = message;
    writing_ = true;
    rpc_->Write(outgoing_, ToPointer(Tag::kWrite));
  }

  void WriteNext() {
    if (pump_ == nullptr) return;
    OutgoingChunk chunk;
    switch (pump_->TakeWrite(&chunk)) {
      case internal::Write::kNothing:
        return;
      case internal::Write::kChunk: {
        v1::UnscaleChunk* message = request_.mutable_chunk();
        message->set_tensor(chunk.tensor);
        message->set_offset(chunk.offset);
        const grpc::Slice slices[] = {
            wire::ChunkHeadOf(request_, chunk.data.size()),
            SliceOf(std::move(chunk))};
        return Write(grpc::ByteBuffer(slices, std::size(slices)));
      }
      case internal::Write::kHalfClose:
        half_closing_ = true;
        return rpc_->WritesDone(ToPointer(Tag::kHalfClose));
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

  // Null once nobody waits for the stream any more.
  UnscalePump* pump_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<HeldChannel> channel_;
  std::unique_ptr<Stub::UnscaleRpc> rpc_;
  grpc::Status status_;

  // What gRPC is at.
  bool reading_ = false;
  bool writing_ = false;
  bool half_closing_ = false;
  bool finished_ = false;
  // The last answer was.
  bool refused_ = false;

  v1::UnscaleRequest request_;
  grpc::ByteBuffer outgoing_;

  // Pieces view slices, or response_.
  grpc::ByteBuffer incoming_;
  std::vector<grpc::Slice> slices_;
  std::vector<std::string_view> pieces_;
  v1::UnscaleResponse response_;
};

// Streams whose peer takes nothing and that gRPC therefore does not end. Looked
// at again with each new stream; what is left at the end of the process stays.
class AbandonedStreams {
 public:
  static AbandonedStreams& Get() {
    static AbandonedStreams& streams = *new AbandonedStreams;
    return streams;
  }

  void Add(UnscaleStream* stream) {
    MutexLock lock(&mutex_);
    streams_.push_back(stream);
  }

  void Reap() {
    std::vector<UnscaleStream*> streams;
    {
      MutexLock lock(&mutex_);
      streams.swap(streams_);
    }
    for (UnscaleStream* stream : streams) {
      stream->Settle(gpr_inf_past(GPR_CLOCK_MONOTONIC));
      if (stream->idle()) {
        delete stream;
      } else {
        Add(stream);
      }
    }
  }

 private:
  Mutex mutex_;
  std::vector<UnscaleStream*> streams_ ABSL_GUARDED_BY(mutex_);
};

// However its call ends, a stream is settled, or left behind.
struct Leave {
  void operator()(UnscaleStream* stream) const {
    stream->Settle(After(kSettling));
    if (stream->idle()) {
      delete stream;
    } else {
      AbandonedStreams::Get().Add(stream);
    }
  }
};

}  // namespace

absl::Status RunUnscaleStream(UnscalePump* pump, v1::UnscaleOpen open,
                              Stub* stub, const ClientOptions& options,
                              absl::Duration stall_timeout) {
  AbandonedStreams::Get().Reap();
  const std::unique_ptr<UnscaleStream, Leave> stream(
      new UnscaleStream(pump, std::move(open), stub, options));
  return pump->WaitForStream(
      stall_timeout,
      {.carry = [&](absl::Duration at_most) { stream->Carry(at_most); },
       .cancel = [&] { stream->Cancel(); }});
}

}  // namespace lossscaler::internal
