// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/buffer_pool.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sessions/byte_budget.h"

namespace lossscaler::server {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::Ne;

constexpr std::size_t kPage = 4096;

TEST(BufferPool, BuffersAreAlignedAndAsLargeAsAsked) {
  const auto pool = BufferPool::Create();
  for (const std::size_t size : {1u, 63u, 4096u, 4097u, 1u << 20}) {
    PooledBuffer buffer = pool->Take(size, size, nullptr);
    EXPECT_THAT(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, Eq(0u));
    EXPECT_THAT(buffer.size(), Eq(size));
    // Address sanitizer knows where it ends.
    for (std::size_t i = 0; i < size; ++i) buffer.data()[i] = std::byte{7};
  }
  EXPECT_THAT(BufferPool::CapacityFor(0), Eq(0u));
  EXPECT_THAT(BufferPool::CapacityFor(1), Eq(kPage));
  EXPECT_THAT(BufferPool::CapacityFor(kPage), Eq(kPage));
  EXPECT_THAT(BufferPool::CapacityFor(kPage + 1), Eq(2 * kPage));
}

TEST(BufferPool, ABufferThatCameBackIsTakenAgainByStreamsThatAreAlike) {
  const auto pool = BufferPool::Create();
  const std::byte* first;
  {
    const PooledBuffer buffer = pool->Take(10, 2 * kPage, nullptr);
    first = buffer.data();
    EXPECT_THAT(pool->free_bytes(), Eq(0u));
  }
  EXPECT_THAT(pool->free_bytes(), Eq(2 * kPage));
  const PooledBuffer other = pool->Take(10, kPage, nullptr);
  EXPECT_THAT(other.data(), Ne(first));
  const PooledBuffer alike = pool->Take(2 * kPage, 2 * kPage, nullptr);
  EXPECT_THAT(alike.data(), Eq(first));
  EXPECT_THAT(pool->free_bytes(), Eq(0u));
}

TEST(BufferPool, KeepsWhatCameBackLastUpToItsLimit) {
  const auto pool = BufferPool::Create(3 * kPage);
  std::vector<PooledBuffer> out;
  std::vector<const std::byte*> blocks;
  for (int i = 0; i < 3; ++i) {
    out.push_back(pool->Take(1, kPage, nullptr));
    blocks.push_back(out.back().data());
  }
  out.push_back(pool->Take(1, 2 * kPage, nullptr));
  for (PooledBuffer& buffer : out) PooledBuffer(std::move(buffer));
  // The first two made room for the last.
  EXPECT_THAT(pool->free_bytes(), Eq(3 * kPage));
  EXPECT_THAT(pool->Take(1, kPage, nullptr).data(), Eq(blocks[2]));
  // One that is larger than all of it leaves the others alone.
  { const PooledBuffer large = pool->Take(1, 4 * kPage, nullptr); }
  EXPECT_THAT(pool->free_bytes(), Eq(3 * kPage));
}

TEST(BufferPool, ABufferKeepsItsReservationAndOutlivesTheBudgetsOwner) {
  auto budget = std::make_shared<ByteBudget>(100);
  auto pool = BufferPool::Create();
  auto reservation = Reservation::Take(budget, 60);
  PooledBuffer buffer = pool->Take(10, 10, std::move(reservation));
  EXPECT_THAT(budget->taken(), Eq(60));
  PooledBuffer moved = std::move(buffer);
  EXPECT_THAT(budget->taken(), Eq(60));
  EXPECT_THAT(Reservation::Take(budget, 41), Eq(nullptr));
  const ByteBudget* const seen = budget.get();
  const std::weak_ptr<ByteBudget> watched = budget;
  budget.reset();
  pool.reset();
  EXPECT_THAT(seen->taken(), Eq(60));
  { const PooledBuffer last = std::move(moved); }
  EXPECT_TRUE(watched.expired());
}

// Each thread finds in its buffers what it wrote.
TEST(BufferPool, NoBufferIsLentTwiceAtOneTime) {
  const auto pool = BufferPool::Create(4 * kPage);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 500; ++i) {
        PooledBuffer a = pool->Take(64, kPage, nullptr);
        PooledBuffer b = pool->Take(64, kPage, nullptr);
        const std::byte mark{static_cast<unsigned char>(t)};
        for (int k = 0; k < 64; ++k) a.data()[k] = b.data()[k] = mark;
        EXPECT_THAT(std::vector<std::byte>(a.data(), a.data() + 64),
                    Each(mark));
        EXPECT_THAT(std::vector<std::byte>(b.data(), b.data() + 64),
                    Each(mark));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool->free_bytes(), 4 * kPage);
}

}  // namespace
}  // namespace lossscaler::server
