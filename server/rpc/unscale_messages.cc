// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "rpc/unscale_messages.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/wire/chunk_codec.h"
#include "lossscaler/wire/convert.h"
#include "rpc/translate.h"

namespace lossscaler::server {
namespace {

// A message, or its end, in the slices that gRPC received. Nobody writes into
// them: they are shared.
class ReceivedPayload final : public ChunkPump::Payload {
 public:
  explicit ReceivedPayload(std::vector<grpc::Slice> slices)
      : slices_(std::move(slices)) {
    // Small slices are where their objects are, which stay from here on.
    fragments_.reserve(slices_.size());
    for (const grpc::Slice& slice : slices_) {
      fragments_.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                              slice.size());
    }
  }

  Fragments data() const override { return fragments_; }

  void RemovePrefix(std::size_t bytes) {
    auto piece = fragments_.begin();
    for (; piece != fragments_.end() && bytes >= piece->size(); ++piece) {
      bytes -= piece->size();
    }
    fragments_.erase(fragments_.begin(), piece);
    if (bytes > 0) fragments_.front().remove_prefix(bytes);
  }

 private:
  const std::vector<grpc::Slice> slices_;
  std::vector<std::string_view> fragments_;
};

class ParsedPayload final : public ChunkPump::Payload {
 public:
  explicit ParsedPayload(std::string data) : data_(std::move(data)) {}
  Fragments data() const override { return fragments_; }

 private:
  const std::string data_;
  const std::array<std::string_view, 1> fragments_ = {data_};
};

// The data of a chunk message in the usual shape; null if it is not one.
std::unique_ptr<ReceivedPayload> ReadUsual(const grpc::ByteBuffer& bytes,
                                           v1::UnscaleRequest* message) {
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) return nullptr;
  auto payload = std::make_unique<ReceivedPayload>(std::move(slices));
  const std::optional<wire::ChunkHead> head =
      wire::ReadChunk(payload->data(), message);
  if (!head) return nullptr;
  payload->RemovePrefix(head->bytes);
  return payload;
}

absl::Status Malformed(std::size_t bytes) {
  return MakeError(
      Reason::kMalformedMessage,
      absl::StrCat("a message of ", bytes,
                   " bytes is not a lossscaler.v1.UnscaleRequest; send "
                   "messages that a protobuf library made from "
                   "lossscaler/v1/unscale.proto"),
      {{"bytes", absl::StrCat(bytes)}});
}

grpc::Slice Lend(PooledBuffer buffer) {
  auto lent = std::make_unique<PooledBuffer>(std::move(buffer));
  std::byte* const data = lent->data();
  const std::size_t size = lent->size();
  return grpc::Slice(
      data, size,
      [](void* let_go) { delete static_cast<PooledBuffer*>(let_go); },
      lent.release());
}

struct ToMessage {
  grpc::ByteBuffer operator()(const ChunkPump::Opened& answer) const {
    v1::UnscaleResponse response;
    v1::UnscaleOpened* const opened = response.mutable_opened();
    opened->set_scale(answer.scale.scale);
    opened->set_step(answer.scale.step);
    opened->set_epoch(answer.scale.epoch);
    opened->set_max_chunk_bytes(answer.max_chunk_bytes);
    return Serialized(response);
  }

  grpc::ByteBuffer operator()(ChunkPump::Unscaled& answer) const {
    v1::UnscaleResponse response;
    v1::UnscaledChunk* const chunk = response.mutable_chunk();
    chunk->set_tensor(answer.tensor);
    chunk->set_offset(answer.offset);
    wire::ToProto(answer.answer.verdict, answer.statistics,
                  chunk->mutable_verdict());
    const std::size_t bytes = answer.answer.data.size();
    std::array<grpc::Slice, 2> slices = {
        grpc::Slice(wire::ChunkHeadOf(response, bytes))};
    if (bytes > 0) slices[1] = Lend(std::move(answer.answer.data));
    return grpc::ByteBuffer(slices.data(), bytes > 0 ? 2 : 1);
  }

  grpc::ByteBuffer operator()(const ChunkPump::Summed& answer) const {
    v1::UnscaleResponse response;
    ToProto(answer.summary, answer.statistics, response.mutable_summary());
    return Serialized(response);
  }

 private:
  static grpc::ByteBuffer Serialized(const v1::UnscaleResponse& response) {
    const grpc::Slice slice(response.SerializeAsString());
    return grpc::ByteBuffer(&slice, 1);
  }
};

}  // namespace

absl::StatusOr<ReceivedMessage> ReadMessage(grpc::ByteBuffer* bytes) {
  const std::size_t size = bytes->Length();
  v1::UnscaleRequest message;
  if (std::unique_ptr<ReceivedPayload> payload = ReadUsual(*bytes, &message)) {
    bytes->Clear();
    return ReceivedChunk{.tensor = message.chunk().tensor(),
                         .offset = message.chunk().offset(),
                         .payload = std::move(payload)};
  }
  message.Clear();
  const bool parsed =
      grpc::SerializationTraits<v1::UnscaleRequest>::Deserialize(bytes,
                                                                 &message)
          .ok();
  bytes->Clear();
  if (!parsed) return Malformed(size);
  switch (message.message_case()) {
    case v1::UnscaleRequest::kOpen:
      return std::move(*message.mutable_open());
    case v1::UnscaleRequest::kChunk:
      // Of the message only this stays, not what this version does not know.
      return ReceivedChunk{.tensor = message.chunk().tensor(),
                           .offset = message.chunk().offset(),
                           .payload = std::make_unique<ParsedPayload>(std::move(
                               *message.mutable_chunk()->mutable_data()))};
    case v1::UnscaleRequest::MESSAGE_NOT_SET:
      break;
  }
  return MakeError(Reason::kEmptyMessage,
                   "a message of the stream is empty; set open or chunk");
}

grpc::ByteBuffer WriteMessage(ChunkPump::Answer answer) {
  return std::visit(ToMessage{}, answer);
}

}  // namespace lossscaler::server
