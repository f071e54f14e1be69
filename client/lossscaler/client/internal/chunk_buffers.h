// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// ChunkBuffers: memory for chunks under way, used again and again.
//
// A buffer is handed to a transport that gives it back whenever it likes, also
// after these buffers are gone.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_CLIENT_INTERNAL_CHUNK_BUFFERS_H_
#define LOSSSCALER_CLIENT_INTERNAL_CHUNK_BUFFERS_H_

#include <cstddef>
#include <memory>

namespace lossscaler::internal {

class ChunkBuffers {
 public:
  // Of so many bytes each.
  explicit ChunkBuffers(std::size_t bytes);

  // One of any content. Back here once the last copy of the pointer is gone.
  std::shared_ptr<std::byte> Take();

 private:
  class Shelf;

  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_CHUNK_BUFFERS_H_
