// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// BufferPool: memory for answers, used again and again.
//
// A buffer that is lent out belongs to the reservation of the stream it was
// taken for, and keeps it: what a stream reserved is free for others only when
// the transport has let go of the stream's last buffer, however long after the
// stream's end that is. Free buffers are the pool's own, up to a limit.
//
// Thread safety: any thread, at any time; a buffer, one thread at a time.

#ifndef LOSSSCALER_SERVER_SESSIONS_BUFFER_POOL_H_
#define LOSSSCALER_SERVER_SESSIONS_BUFFER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/reservation.h"

namespace lossscaler::server {

class BufferPool;

// Memory that goes back to its pool.
class PooledBuffer {
 public:
  // A cache line, and the widest vector of any kernel.
  static constexpr std::align_val_t kAlignment{64};

  // None: no bytes.
  PooledBuffer() = default;
  ~PooledBuffer();
  PooledBuffer(PooledBuffer&& other) noexcept { Swap(&other); }
  PooledBuffer& operator=(PooledBuffer&& other) noexcept {
    Swap(&other);
    return *this;
  }

  std::byte* data() { return block_.get(); }
  const std::byte* data() const { return block_.get(); }
  std::size_t size() const { return size_; }

 private:
  friend class BufferPool;
  struct Free {
    void operator()(std::byte* block) const {
      ::operator delete(block, kAlignment);
    }
  };
  using Block = std::unique_ptr<std::byte, Free>;

  void Swap(PooledBuffer* other) {
    std::swap(pool_, other->pool_);
    std::swap(paid_by_, other->paid_by_);
    std::swap(block_, other->block_);
    std::swap(capacity_, other->capacity_);
    std::swap(size_, other->size_);
  }

  std::shared_ptr<BufferPool> pool_;
  std::shared_ptr<const Reservation> paid_by_;
  Block block_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Enough for the answers of several streams at once.
  static constexpr std::size_t kMaxFreeBytes = std::size_t{16} << 20;

  static std::shared_ptr<BufferPool> Create(
      std::size_t max_free_bytes = kMaxFreeBytes) {
    return std::shared_ptr<BufferPool>(new BufferPool(max_free_bytes));
  }

  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // What a buffer for `bytes` occupies.
  static constexpr std::size_t CapacityFor(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    return (bytes + kPage - 1) / kPage * kPage;
  }

  // A buffer of `size` bytes, not initialised, that occupies
  // CapacityFor(largest): buffers of one stream are alike, whatever they hold.
  //
  // REQUIRES: 0 < size <= largest, and `paid_by` has that much for it.
  PooledBuffer Take(std::size_t size, std::size_t largest,
                    std::shared_ptr<const Reservation> paid_by)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Of buffers that nobody has.
  std::size_t free_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class PooledBuffer;
  struct FreeBlock {
    PooledBuffer::Block block;
    std::size_t capacity = 0;
  };

  explicit BufferPool(std::size_t max_free_bytes)
      : max_free_bytes_(max_free_bytes) {}

  // Null: there is none.
  PooledBuffer::Block TakeFree(std::size_t capacity)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(PooledBuffer::Block block, std::size_t capacity)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::size_t max_free_bytes_;
  mutable Mutex mutex_;
  std::size_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The one that came back last, whose memory is the warmest, at the end.
  std::vector<FreeBlock> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_BUFFER_POOL_H_
