// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/chunk_buffers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {
namespace {

struct Buffer {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
};

}  // namespace

class ChunkBuffers::Shelf {
 public:
  // One that is large enough; a new one if none is.
  Buffer Take(std::size_t bytes) {
    {
      MutexLock lock(&mutex_);
      // The one that came back last is the one most likely to be in the cache.
      const auto found = std::find_if(
          free_.rbegin(), free_.rend(),
          [&](const Buffer& buffer) { return buffer.bytes >= bytes; });
      if (found != free_.rend()) {
        Buffer buffer = std::move(*found);
        free_.erase(std::next(found).base());
        return buffer;
      }
    }
    return {.memory = std::make_unique_for_overwrite<std::byte[]>(bytes),
            .bytes = bytes};
  }

  void Put(Buffer buffer) {
    MutexLock lock(&mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  Mutex mutex_;
  std::vector<Buffer> free_ ABSL_GUARDED_BY(mutex_);
};

ChunkBuffers::ChunkBuffers() : shelf_(std::make_shared<Shelf>()) {}

std::shared_ptr<std::byte> ChunkBuffers::Take(std::size_t bytes) {
  auto taken = std::make_unique<Buffer>(shelf_->Take(bytes));
  std::byte* const memory = taken->memory.get();
  return {memory, [shelf = shelf_, buffer = taken.release()](std::byte*) {
            shelf->Put(std::move(*buffer));
            delete buffer;
          }};
}

}  // namespace lossscaler::internal
