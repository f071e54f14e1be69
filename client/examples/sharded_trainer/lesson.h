// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Lesson: the digits, cut into batches and each batch into shares of the ranks.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LESSON_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LESSON_H_

#include <cstdint>
#include <span>
#include <string>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "digits_trainer/digits.h"

namespace lossscaler::sharded {

struct Score {
  // Cross-entropy of all training samples.
  double loss = 0.0;
  // Share of the test samples.
  double accuracy = 0.0;
};

// The same in every rank, given the same seed. Parameters and gradients are
// flat (shard.h).
//
// Thread safety: const functions of values.
class Lesson {
 public:
  static absl::StatusOr<Lesson> Load(const std::string& path,
                                     std::uint64_t seed);

  Eigen::VectorXf InitialParameters() const;

  // The gradients of this rank's share of an iteration's batch, in float16 as
  // tensor cores leave them. Added up over all ranks they are those of
  // the batch's mean loss times kLossWeight times `scale`.
  void Backward(const Eigen::VectorXf& parameters, int rank,
                std::int64_t iteration, float scale,
                std::span<Eigen::half> gradients) const;

  Score Examine(const Eigen::VectorXf& parameters) const;

 private:
  Lesson(const digits::Samples& samples, std::uint64_t seed);

  std::uint64_t seed_;
  digits::Digits digits_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LESSON_H_
