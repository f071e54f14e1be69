// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/buffer_pool.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace lossscaler::server {

PooledBuffer::~PooledBuffer() {
  if (block_ != nullptr) pool_->GiveBack(std::move(block_), capacity_);
}

PooledBuffer BufferPool::Take(std::size_t size, std::size_t largest,
                              std::shared_ptr<const Reservation> paid_by) {
  PooledBuffer buffer;
  buffer.pool_ = shared_from_this();
  buffer.paid_by_ = std::move(paid_by);
  buffer.size_ = size;
  buffer.capacity_ = CapacityFor(largest);
  buffer.block_ = TakeFree(buffer.capacity_);
  if (buffer.block_ == nullptr) {
    buffer.block_.reset(static_cast<std::byte*>(
        ::operator new(buffer.capacity_, PooledBuffer::kAlignment)));
  }
  return buffer;
}

std::size_t BufferPool::free_bytes() const {
  MutexLock lock(&mutex_);
  return free_bytes_;
}

PooledBuffer::Block BufferPool::TakeFree(std::size_t capacity) {
  MutexLock lock(&mutex_);
  const auto found = std::find_if(
      free_.rbegin(), free_.rend(),
      [&](const FreeBlock& free) { return free.capacity == capacity; });
  if (found == free_.rend()) return nullptr;
  PooledBuffer::Block block = std::move(found->block);
  free_bytes_ -= capacity;
  free_.erase(std::next(found).base());
  return block;
}

void BufferPool::GiveBack(PooledBuffer::Block block, std::size_t capacity) {
  if (capacity > max_free_bytes_) return;
  // Those that have been free for longest make room, and are freed without the
  // lock.
  std::vector<FreeBlock> dropped;
  MutexLock lock(&mutex_);
  free_bytes_ += capacity;
  free_.push_back({.block = std::move(block), .capacity = capacity});
  auto kept = free_.begin();
  for (; free_bytes_ > max_free_bytes_; ++kept) {
    free_bytes_ -= kept->capacity;
    dropped.push_back(std::move(*kept));
  }
  free_.erase(free_.begin(), kept);
}

}  // namespace lossscaler::server
