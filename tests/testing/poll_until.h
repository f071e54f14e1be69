// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Waits for what another process is about to do.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_TESTING_POLL_UNTIL_H_
#define LOSSSCALER_TESTS_TESTING_POLL_UNTIL_H_

#include <chrono>
#include <thread>

namespace lossscaler::testing {

// Asks again and again until the answer is yes; false after `limit`, which
// bounds only what a broken program could hang.
template <typename Condition>
bool PollUntil(std::chrono::seconds limit, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_POLL_UNTIL_H_
