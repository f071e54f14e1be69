// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Caught: the answers that a callback was given, in order.
//
// Thread safety: none; outlives every callback that it made.

#ifndef LOSSSCALER_TESTS_TESTING_CAUGHT_H_
#define LOSSSCALER_TESTS_TESTING_CAUGHT_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace lossscaler::testing {

template <typename Answer>
class Caught {
 public:
  Caught() = default;
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;

  std::function<void(Answer)> Callback() {
    return [this](Answer answer) { answers_.push_back(std::move(answer)); };
  }

  std::size_t size() const { return answers_.size(); }
  // REQUIRES: index < size().
  const Answer& at(std::size_t index) const { return answers_.at(index); }

 private:
  std::vector<Answer> answers_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_CAUGHT_H_
