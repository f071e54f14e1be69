// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The messages of an Unscale call as bytes, without a copy of their payload.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_RPC_UNSCALE_MESSAGES_H_
#define LOSSSCALER_SERVER_RPC_UNSCALE_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <variant>

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "lossscaler/v1/unscale.pb.h"
#include "sessions/chunk_pump.h"

namespace lossscaler::server {

struct ReceivedChunk {
  int tensor = 0;
  std::int64_t offset = 0;
  std::unique_ptr<ChunkPump::Payload> payload;
};
using ReceivedMessage = std::variant<v1::UnscaleOpen, ReceivedChunk>;

// Takes a message apart; `bytes` is left empty.
//
// MALFORMED_MESSAGE if the bytes are no UnscaleRequest, EMPTY_MESSAGE if it
// says nothing.
absl::StatusOr<ReceivedMessage> ReadMessage(grpc::ByteBuffer* bytes);

// The message that says `answer`. It lends out the buffer of a chunk, which
// goes back to its pool when gRPC has let go of the message.
grpc::ByteBuffer WriteMessage(ChunkPump::Answer answer);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_RPC_UNSCALE_MESSAGES_H_
