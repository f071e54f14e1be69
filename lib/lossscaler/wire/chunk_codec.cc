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

using ::google::protobuf::io::CodedOutputStream;

// The protobuf encoding: a tag is field_number << 3 | wire type.
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

// Walks over fields without looking into them.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  // False from here on: the bytes end before, or are not what any serializer
  // writes.
  bool Varint(std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left() == 0) return false;
      const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
      *value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      // Longer than it need be: legal up to a length that only the generated
      // parser knows.
      if (byte < 0x80) return byte != 0 || shift == 0;
    }
    return false;
  }
  bool Skip(std::uint64_t bytes) {
    if (bytes > left()) return false;
    position_ += static_cast<std::size_t>(bytes);
    return true;
  }
  bool SkipField(std::uint64_t tag) {
    std::uint64_t value = 0;
    switch (tag & 7) {
      case kVarint:
        return Varint(&value);
      case kFixed64:
        return Skip(8);
      case kLengthDelimited:
        return Varint(&value) && Skip(value);
      case kFixed32:
        return Skip(4);
      default:
        return false;
    }
  }

 private:
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
  if (!cursor.Varint(&tag) || tag != kChunkTag || !cursor.Varint(&length) ||
      length != total - cursor.position()) {
    return std::nullopt;
  }
  Layout layout;
  layout.fields = cursor.position();
  while (cursor.position() < total) {
    layout.fields_end = cursor.position();
    if (!cursor.Varint(&tag)) return std::nullopt;
    if (tag == kDataTag) {
      if (!cursor.Varint(&length) || length != total - cursor.position()) {
        return std::nullopt;
      }
      layout.head = {.bytes = cursor.position(),
                     .data_bytes = static_cast<std::size_t>(length)};
      return layout;
    }
    if (!cursor.SkipField(tag)) return std::nullopt;
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
    if (filled == 0 && piece.size() >= kMaxHeadBytes) {
      return piece.substr(0, kMaxHeadBytes);
    }
    const std::size_t taken = std::min(piece.size(), kMaxHeadBytes - filled);
    if (taken > 0) std::memcpy(storage->data() + filled, piece.data(), taken);
    filled += taken;
  }
  return {storage->data(), filled};
}

template <typename Message>
std::optional<ChunkHead> Read(Fragments bytes, Message* message) {
  message->Clear();
  std::array<char, kMaxHeadBytes> storage;
  const std::string_view start = StartOf(bytes, &storage);
  const std::optional<Layout> layout = FindData(start, TotalBytes(bytes));
  if (!layout) return std::nullopt;
  auto* const chunk = message->mutable_chunk();
  if (!chunk->ParseFromArray(
          start.data() + layout->fields,
          static_cast<int>(layout->fields_end - layout->fields))) {
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
