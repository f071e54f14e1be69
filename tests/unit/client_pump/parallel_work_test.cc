// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/parallel_work.h"

#include <barrier>
#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lossscaler::internal {
namespace {

using ::testing::Each;

TEST(ShareWorkTest, DoesEveryPieceOnce) {
  for (const std::size_t threads : {1, 2, 5}) {
    std::vector<int> done(1000, 0);
    ShareWork(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    EXPECT_THAT(done, Each(1)) << threads;
  }
}

TEST(ShareWorkTest, WorksOnAsManyPiecesAtOnceAsThereAreThreads) {
  // Nobody passes before three have come.
  std::barrier<> all_there(3);
  std::vector<int> done(3, 0);
  ShareWork(done.size(), 3, [&](std::size_t i) {
    all_there.arrive_and_wait();
    done[i] = 1;
  });
  EXPECT_THAT(done, Each(1));
}

TEST(ShareWorkTest, HasNothingToDoWithoutPieces) {
  ShareWork(0, 4, [](std::size_t) { FAIL(); });
}

TEST(UsableProcessorsTest, IsAtLeastTheOneThatAsks) {
  EXPECT_GE(UsableProcessors(), 1);
}

}  // namespace
}  // namespace lossscaler::internal
