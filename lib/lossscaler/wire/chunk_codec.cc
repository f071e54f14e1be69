// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/wire/chunk_codec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "google/protobuf/io/coded_stream.h"

namespace lossscaler::wire {
namespace {

using ::google::protobuf::io::CodedInputStream;
using ::google::protobuf::io::CodedOutputStream;

// The protobuf encoding: a tag is field_number << 3 | wire type. The other wire
// types are those of groups, which no serializer of ours writes.
enum WireType : std::uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kFixed32 = 5,
};

constexpr std::uint32_t Tag(int field, WireType type) {
  return static_cast<std::uint32_t>(field) << 3 | type;
}

static_assert(static_cast<int>(v1::UnscaleChunk::kDataFieldNumber) ==
              static_cast<int>(v1::UnscaledChunk::kDataFieldNumber));
static_assert(static_cast<int>(v1::UnscaleRequest::kChunkFieldNumber) ==
              static_cast<int>(v1::UnscaleResponse::kChunkFieldNumber));
constexpr std::uint32_t kDataTag =
    Tag(v1::UnscaleChunk::kDataFieldNumber, kLengthDelimited);
constexpr std::uint32_t kChunkTag =
    Tag(v1::UnscaleRequest::kChunkFieldNumber, kLengthDelimited);
// In HeadOf() a tag is one byte.
static_assert(kDataTag < 0x80 && kChunkTag < 0x80);

// Parsers refuse lengths close to 2 GiB, each from another one on. Below this
// one all agree, and it is far more than a message of ours has.
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 30;

// Walks over fields without looking into them. Every function is false where
// the bytes end too early, or are not as serializers write them: parsers differ
// in what they make of numbers that are longer than they need be or do not fit
// their type.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }

  bool ReadTag(std::uint64_t* tag) {
    return ReadVarint(tag) && *tag <= 0xFFFFFFFF;
  }
  bool ReadLength(std::uint64_t* length) {
    return ReadVarint(length) && *length <= kMaxLength;
  }
  // What follows a tag.
  bool SkipValue(std::uint64_t tag) {
    std::uint64_t value = 0;
    switch (tag & 7) {
      case kVarint:
        return ReadVarint(&value);
      case kFixed64:
        return Skip(8);
      case kLengthDelimited:
        return ReadLength(&value) && Skip(value);
      case kFixed32:
        return Skip(4);
      default:
        return false;
    }
  }

 private:
  std::size_t left() const { return bytes_.size() - position_; }

  bool ReadVarint(std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left() == 0) return false;
      const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
      *value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte >= 0x80) continue;
      // Of the tenth byte, one bit is left to fill.
      if (shift == 63) return byte == 1;
      return byte != 0 || shift == 0;
    }
    return false;
  }
  bool Skip(std::uint64_t bytes) {
    if (bytes > left()) return false;
    position_ += static_cast<std::size_t>(bytes);
    return true;
  }

  const std::string_view bytes_;
  std::size_t position_ = 0;
};

// Where the parts of a chunk message are.
struct Layout {
  // The small fields: [fields, fields_end).
  std::size_t fields = 0;
  std::size_t fields_end = 0;
  ChunkHead head;
};

// `start` holds the first bytes of a message of `total` bytes.
std::optional<Layout> FindData(std::string_view start, std::size_t total) {
  Cursor cursor(start);
  std::uint64_t tag = 0;
  std::uint64_t length = 0;
  if (!cursor.ReadTag(&tag) || tag != kChunkTag ||
      !cursor.ReadLength(&length) || length != total - cursor.position()) {
    return std::nullopt;
  }
  Layout layout;
  layout.fields = cursor.position();
  while (cursor.position() < total) {
    layout.fields_end = cursor.position();
    if (!cursor.ReadTag(&tag)) return std::nullopt;
    if (tag == kDataTag) {
      if (!cursor.ReadLength(&length) || length != total - cursor.position()) {
        return std::nullopt;
      }
      layout.head = {.bytes = cursor.position(),
                     .data_bytes = static_cast<std::size_t>(length)};
      return layout;
    }
    if (!cursor.SkipValue(tag)) return std::nullopt;
  }
  layout.fields_end = total;
  layout.head = {.bytes = total, .data_bytes = 0};
  return layout;
}

// The first bytes of a message in one piece: in place where they lie so.
std::string_view StartOf(Fragments bytes,
                         std::array<char, kMaxHeadBytes>* storage) {
  std::size_t filled = 0;
  for (const std::string_view piece : bytes) {
    // An empty piece may be null, which memcpy() does not take.
    if (piece.empty()) continue;
    if (filled == 0 && piece.size() >= kMaxHeadBytes) {
      return piece.substr(0, kMaxHeadBytes);
    }
    const std::size_t taken = std::min(piece.size(), kMaxHeadBytes - filled);
    std::memcpy(storage->data() + filled, piece.data(), taken);
    filled += taken;
    if (filled == kMaxHeadBytes) break;
  }
  return {storage->data(), filled};
}

// The same as Clear(), except that a chunk which has no payload, as Read()
// leaves it, is kept for the next one.
template <typename Message>
void ClearForChunk(Message* message) {
  if (message->has_chunk() && message->chunk().data().empty() &&
      message->GetReflection()->GetUnknownFields(*message).empty()) {
    message->mutable_chunk()->Clear();
  } else {
    message->Clear();
  }
}

// As within the whole message: what nests too deep there does so here.
template <typename Chunk>
bool MergeFields(std::string_view fields, Chunk* chunk) {
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(fields.data()),
                         static_cast<int>(fields.size()));
  input.SetRecursionLimit(CodedInputStream::GetDefaultRecursionLimit() - 1);
  return chunk->MergeFromCodedStream(&input) && input.ConsumedEntireMessage();
}

template <typename Message>
std::optional<ChunkHead> Read(Fragments bytes, Message* message) {
  std::array<char, kMaxHeadBytes> storage;
  const std::string_view start = StartOf(bytes, &storage);
  const std::optional<Layout> layout = FindData(start, TotalBytes(bytes));
  if (!layout) {
    message->Clear();
    return std::nullopt;
  }
  ClearForChunk(message);
  if (!MergeFields(
          start.substr(layout->fields, layout->fields_end - layout->fields),
          message->mutable_chunk())) {
    message->Clear();
    return std::nullopt;
  }
  return layout->head;
}

std::size_t VarintBytes(std::size_t value) {
  return CodedOutputStream::VarintSize64(value);
}

template <typename Message>
std::string HeadOf(const Message& message, std::size_t data_bytes) {
  const auto& chunk = message.chunk();
  const std::size_t fields = chunk.ByteSizeLong();
  // An empty `data` is not written.
  const std::size_t data_head =
      data_bytes == 0 ? 0 : 1 + VarintBytes(data_bytes);
  const std::size_t body = fields + data_head + data_bytes;
  std::string head(1 + VarintBytes(body) + fields + data_head, '\0');
  auto* at = reinterpret_cast<std::uint8_t*>(head.data());
  at = CodedOutputStream::WriteTagToArray(kChunkTag, at);
  at = CodedOutputStream::WriteVarint64ToArray(body, at);
  at = chunk.SerializeWithCachedSizesToArray(at);
  if (data_bytes > 0) {
    at = CodedOutputStream::WriteTagToArray(kDataTag, at);
    CodedOutputStream::WriteVarint64ToArray(data_bytes, at);
  }
  return head;
}

}  // namespace

std::optional<ChunkHead> ReadChunk(Fragments bytes,
                                   v1::UnscaleRequest* message) {
  return Read(bytes, message);
}

std::optional<ChunkHead> ReadChunk(Fragments bytes,
                                   v1::UnscaleResponse* message) {
  return Read(bytes, message);
}

std::string ChunkHeadOf(const v1::UnscaleRequest& message,
                        std::size_t data_bytes) {
  return HeadOf(message, data_bytes);
}

std::string ChunkHeadOf(const v1::UnscaleResponse& message,
                        std::size_t data_bytes) {
  return HeadOf(message, data_bytes);
}

}  // namespace lossscaler::wire
