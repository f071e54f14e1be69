// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/chunk_buffers.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

TEST(ChunkBuffersTest, UsesABufferAgainOnceNobodyHoldsIt) {
  ChunkBuffers buffers(100);
  std::shared_ptr<std::byte> held = buffers.Take();
  std::shared_ptr<const std::byte> also = held;
  const std::byte* const memory = held.get();
  held.reset();
  EXPECT_NE(buffers.Take().get(), memory);
  also.reset();
  // The other one is there again, too.
  const std::shared_ptr<std::byte> first = buffers.Take();
  const std::shared_ptr<std::byte> second = buffers.Take();
  EXPECT_TRUE(first.get() == memory || second.get() == memory);
}

TEST(ChunkBuffersTest, ABufferOutlivesThem) {
  auto buffers = std::make_optional<ChunkBuffers>(100);
  const std::shared_ptr<std::byte> buffer = buffers->Take();
  buffers.reset();
  std::memset(buffer.get(), 1, 100);
}

TEST(ChunkBuffersTest, NoTwoThreadsGetTheSame) {
  ChunkBuffers buffers(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&buffers, t] {
      for (int i = 0; i < 1'000; ++i) {
        const std::shared_ptr<std::byte> buffer = buffers.Take();
        std::memset(buffer.get(), t, 64);
        for (int n = 0; n < 64; ++n) {
          ASSERT_EQ(buffer.get()[n], static_cast<std::byte>(t));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lossscaler::internal
