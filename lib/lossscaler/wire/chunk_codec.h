// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Chunk messages of the Unscale stream without a copy of their payload.
//
// On the wire they are the ordinary messages of unscale.proto. Since `data` has
// the highest field number it comes last in what every serializer writes, so a
// message is a head of a few bytes, in which all small fields are, and the
// payload, which runs to the end of the message. Only the head goes through
// protobuf.
//
// Every other legal encoding (`data` before a small field, or twice; the oneof
// set twice; groups; numbers longer than they need be; a head longer than
// kMaxHeadBytes) is for the generated parser: it gives the same message, only
// slower. What is taken by hand is legal, and what the generated parser makes
// of it.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_WIRE_CHUNK_CODEC_H_
#define LOSSSCALER_WIRE_CHUNK_CODEC_H_

#include <cstddef>
#include <optional>
#include <string>

#include "lossscaler/core/fragments.h"
#include "lossscaler/v1/unscale.pb.h"

namespace lossscaler::wire {

// More than all fields of a chunk message need, those of a newer version
// included.
inline constexpr std::size_t kMaxHeadBytes = 512;

// What there is of a message up to its `data`.
struct ChunkHead {
  // Bytes of the message before the payload.
  std::size_t bytes = 0;
  // Of the payload, which is the rest of the message. May be 0.
  std::size_t data_bytes = 0;
};

// Takes a chunk message apart. `message` is left with all of its fields but
// `data`, unknown ones included; with nothing, if this is not a chunk message
// in the usual shape: then ParseFromString() or its like has to read it, and
// decides whether it is legal at all.
//
// Given the message that it filled for the chunk before, it allocates less.
std::optional<ChunkHead> ReadChunk(Fragments bytes,
                                   v1::UnscaleRequest* message);
std::optional<ChunkHead> ReadChunk(Fragments bytes,
                                   v1::UnscaleResponse* message);

// The bytes that together with `data_bytes` bytes of payload behind them are
// `message` with that payload as `data`: those that SerializeAsString() gives,
// but for unknown fields of the chunk, which are kept and come before `data`.
//
// REQUIRES: `message` is a chunk without `data`, has no unknown fields beside
// the chunk, and the whole is less than 2 GiB.
std::string ChunkHeadOf(const v1::UnscaleRequest& message,
                        std::size_t data_bytes);
std::string ChunkHeadOf(const v1::UnscaleResponse& message,
                        std::size_t data_bytes);

}  // namespace lossscaler::wire

#endif  // LOSSSCALER_WIRE_CHUNK_CODEC_H_
