// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/repeater.h"

#include "gtest/gtest.h"

namespace lossscaler::server {
namespace {

TEST(Repeater, RunsAtOnceAndAgainAndAgain) {
  Mutex mutex;
  CondVar ran;
  int runs = 0;
  Repeater repeater([&] {
    MutexLock lock(&mutex);
    ++runs;
    ran.SignalAll();
  });
  repeater.Start(absl::Milliseconds(1));
  MutexLock lock(&mutex);
  while (runs < 3) ran.Wait(&mutex);
}

TEST(Repeater, StopEndsALongWaitAfterTheFirstRun) {
  Mutex mutex;
  CondVar ran;
  int runs = 0;
  Repeater repeater([&] {
    MutexLock lock(&mutex);
    ++runs;
    ran.SignalAll();
  });
  repeater.Start(absl::Hours(24));
  {
    MutexLock lock(&mutex);
    while (runs == 0) ran.Wait(&mutex);
  }
  repeater.Stop();
  repeater.Stop();
  EXPECT_EQ(runs, 1);
}

TEST(Repeater, OneThatWasNeverStartedDoesNothing) {
  bool ran = false;
  {
    const Repeater repeater([&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace lossscaler::server
