// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/chunk_buffers.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::internal {

class ChunkBuffers::Shelf {
 public:
  using Buffer = std::unique_ptr<std::byte[]>;

  explicit Shelf(std::size_t bytes) : bytes_(bytes) {}

  Buffer Take() {
    {
      MutexLock lock(&mutex_);
      if (!free_.empty()) {
        // The one that is most likely to be in the cache.
        Buffer buffer = std::move(free_.back());
        free_.pop_back();
        return buffer;
      }
    }
    return std::make_unique_for_overwrite<std::byte[]>(bytes_);
  }

  void Put(Buffer buffer) {
    MutexLock lock(&mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  const std::size_t bytes_;
  Mutex mutex_;
  std::vector<Buffer> free_ ABSL_GUARDED_BY(mutex_);
};

ChunkBuffers::ChunkBuffers(std::size_t bytes)
    : shelf_(std::make_shared<Shelf>(bytes)) {}

std::shared_ptr<std::byte> ChunkBuffers::Take() {
  Shelf::Buffer buffer = shelf_->Take();
  return {buffer.release(), [shelf = shelf_](std::byte* memory) {
            shelf->Put(Shelf::Buffer(memory));
          }};
}

}  // namespace lossscaler::internal
