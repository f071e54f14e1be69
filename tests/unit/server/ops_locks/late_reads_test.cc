// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/late_reads.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

std::shared_ptr<LateRead> Counting(LateReads* all, std::atomic<int>* started) {
  return std::make_shared<LateRead>(all, [started] { ++*started; });
}

void AwaitAtLeast(const std::atomic<int>& count, int wanted) {
  while (count < wanted) std::this_thread::yield();
}

TEST(LateRead, StartsOnceWhenThereIsSomethingToWrite) {
  LateReads all(absl::Hours(1));
  std::atomic<int> started{0};
  const std::shared_ptr<LateRead> read = Counting(&all, &started);
  read->PutOff();
  EXPECT_EQ(started, 0);
  read->StartNow();
  EXPECT_EQ(started, 1);
  read->StartNow();
  EXPECT_EQ(started, 1);
}

TEST(LateRead, StartsNothingThatWasNotPutOff) {
  LateReads all(absl::Hours(1));
  std::atomic<int> started{0};
  Counting(&all, &started)->StartNow();
  EXPECT_EQ(started, 0);
}

TEST(LateRead, StartsByItselfEveryTimeItIsPutOff) {
  LateReads all(absl::Milliseconds(1));
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  const std::shared_ptr<LateRead> a = Counting(&all, &first);
  const std::shared_ptr<LateRead> b = Counting(&all, &second);
  for (int turn = 1; turn <= 3; ++turn) {
    a->PutOff();
    b->PutOff();
    AwaitAtLeast(first, turn);
    AwaitAtLeast(second, turn);
  }
  EXPECT_EQ(first, 3);
  EXPECT_EQ(second, 3);
}

TEST(LateRead, DoesNotStartAfterTheEndOfItsStream) {
  LateReads all(absl::Milliseconds(1));
  std::atomic<int> ended{0};
  std::atomic<int> other{0};
  const std::shared_ptr<LateRead> read = Counting(&all, &ended);
  read->PutOff();
  read->Drop();
  read->StartNow();
  // Put off later, and so looked at later, than the one that was dropped.
  const std::shared_ptr<LateRead> witness = Counting(&all, &other);
  witness->PutOff();
  AwaitAtLeast(other, 1);
  EXPECT_EQ(ended, 0);
}

TEST(LateReads, EndWhileReadsArePutOff) {
  std::atomic<int> started{0};
  std::shared_ptr<LateRead> read;
  {
    LateReads all(absl::Hours(1));
    read = Counting(&all, &started);
    read->PutOff();
  }
  EXPECT_EQ(started, 0);
}

TEST(LateReads, ThreadsStartEachReadOnce) {
  constexpr int kTurns = 300;
  LateReads all(absl::Microseconds(50));
  std::atomic<int> started{0};
  const std::shared_ptr<LateRead> read = Counting(&all, &started);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) read->StartNow();
  });
  for (int turn = 1; turn <= kTurns; ++turn) {
    read->PutOff();
    AwaitAtLeast(started, turn);
  }
  done = true;
  writer.join();
  EXPECT_EQ(started, kTurns);
}

}  // namespace
}  // namespace lossscaler::server
