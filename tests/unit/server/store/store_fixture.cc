// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store_fixture.h"

#include <vector>

#include "gtest/gtest.h"

namespace lossscaler::server {

SessionState Put(Store* store, Write write) {
  SessionState state = write.state;
  const Answer answer = Commit(store, std::move(write));
  EXPECT_EQ(answer.result, WriteResult::kDone) << answer.status;
  return state;
}

SessionState PutSteps(Store* store, SessionState state, int steps) {
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < steps; ++i) {
    Write write = NextStep(state);
    state = write.state;
    answers.push_back(CommitAsync(store, std::move(write)));
  }
  for (std::future<Answer>& answer : answers) {
    EXPECT_EQ(answer.get().result, WriteResult::kDone);
  }
  return state;
}

}  // namespace lossscaler::server
