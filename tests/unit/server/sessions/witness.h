// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Answers that threads wait for, and the memory of what all of them were told.

#ifndef LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_WITNESS_H_
#define LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_WITNESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::server {

// A copy that shares nothing with the original. Copies of a status share its
// payload by a counter inside Abseil, which thread sanitizer does not see.
inline absl::Status Own(const absl::Status& status) {
  return MakeErrorFromParts(status.code(), std::string(status.message()),
                            ReasonNameOf(status), {}, std::nullopt);
}
template <typename T>
absl::StatusOr<T> Own(absl::StatusOr<T> answer) {
  if (answer.ok()) return answer;
  return Own(answer.status());
}

// One answer that a thread waits for. A second one, however late, is an error.
template <typename Answer>
class Waiting {
 public:
  std::function<void(Answer)> Callback() {
    return [state = state_](Answer answer) {
      MutexLock lock(&state->mutex);
      EXPECT_FALSE(state->answer.has_value()) << "answered twice";
      state->answer = Own(std::move(answer));
      state->answered.Signal();
    };
  }
  Answer Wait() {
    MutexLock lock(&state_->mutex);
    while (!state_->answer) state_->answered.Wait(&state_->mutex);
    return Own(*state_->answer);
  }

 private:
  struct State {
    Mutex mutex;
    CondVar answered;
    std::optional<Answer> answer ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Every decision that anybody was told, by session and step, without its votes:
// workers are not told them.
class Witness {
 public:
  void Saw(const std::string& uid, const Decision& decision) {
    MutexLock lock(&mutex_);
    const auto [seen, is_new] = decisions_.emplace(
        std::pair(uid, decision.step), WithoutVotes(decision));
    if (!is_new) {
      EXPECT_EQ(seen->second, WithoutVotes(decision));
    }
  }
  std::int64_t count(const std::string& uid) {
    MutexLock lock(&mutex_);
    std::int64_t count = 0;
    for (const auto& [key, decision] : decisions_) count += key.first == uid;
    return count;
  }

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, std::int64_t>, Decision> decisions_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_WITNESS_H_
