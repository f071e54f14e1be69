// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes, in pieces, as a message of the Unscale stream: what ReadChunk()
// takes is what the generated parser reads, and can be written and read again.
//
// The first byte of the input chooses where the rest is cut.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "lossscaler/core/fragments.h"
#include "lossscaler/v1/unscale.pb.h"
#include "lossscaler/wire/chunk_codec.h"

namespace {

using ::lossscaler::Fragments;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Pieces of 0 to 15 bytes, or now and then all that is left.
std::vector<std::string_view> Cut(std::string_view bytes, std::uint8_t seed) {
  std::vector<std::string_view> pieces;
  std::uint32_t state = seed;
  while (!bytes.empty()) {
    state = state * 1664525u + 1013904223u;
    const std::uint32_t choice = state >> 24;
    const std::size_t length = choice < 16 ? bytes.size() : choice % 16;
    pieces.push_back(bytes.substr(0, length));
    bytes.remove_prefix(std::min(length, bytes.size()));
  }
  return pieces;
}

template <typename Message>
void Read(std::string_view bytes, Fragments pieces) {
  Message parsed;
  const bool legal =
      parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  // What was in a message before leaves no trace.
  Message read = parsed;
  const std::optional<lossscaler::wire::ChunkHead> head =
      lossscaler::wire::ReadChunk(pieces, &read);
  if (!head) {
    Require(read.ByteSizeLong() == 0);
    return;
  }
  Require(legal);
  Require(read.has_chunk() && read.chunk().data().empty());
  Require(head->bytes + head->data_bytes == bytes.size());
  const std::string_view payload = bytes.substr(head->bytes);

  const std::string again =
      lossscaler::wire::ChunkHeadOf(read, payload.size()) +
      std::string(payload);
  if (!payload.empty()) {
    read.mutable_chunk()->set_data(payload.data(), payload.size());
  }
  Require(read.SerializeAsString() == parsed.SerializeAsString());
  // Unknown fields are written after known ones, and read before `data`.
  if (read.chunk().GetReflection()->GetUnknownFields(read.chunk()).empty()) {
    Require(again == parsed.SerializeAsString());
  }
  Message reread;
  Require(reread.ParseFromString(again));
  Require(reread.SerializeAsString() == parsed.SerializeAsString());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // Of illegal strings in `open` it says so every time.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  const std::vector<std::string_view> pieces = Cut(bytes, data[0]);
  Read<lossscaler::v1::UnscaleRequest>(bytes, pieces);
  Read<lossscaler::v1::UnscaleResponse>(bytes, pieces);
  return 0;
}
