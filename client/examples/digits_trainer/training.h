// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The training loop, in float32 or in float16 with the loss scale kept by a
// session of the service.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_TRAINING_H_
#define LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_TRAINING_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "digits_trainer/digits.h"
#include "digits_trainer/underflow.h"
#include "lossscaler/client/session.h"

namespace lossscaler::digits {

inline constexpr std::size_t kBatchSize = 64;
// The weight of the loss, as an auxiliary loss would have it. It makes
// gradients of about 1e-7, which float16 hardly holds; Adam divides any weight
// out again.
inline constexpr float kLossWeight = 1e-5f;

struct TrainingOptions {
  // > 0.
  int epochs = 60;
  // Of the split, the initial parameters and the order of the samples.
  std::uint64_t seed = 1;
  // After each step, for whoever wants to watch.
  absl::Duration pause = absl::ZeroDuration();
};

// Where a run stands after an epoch.
struct Epoch {
  int number = 0;
  int of = 0;
  // Mean cross-entropy of the epoch's batches, before the weight.
  double loss = 0.0;
  // Share of the test samples.
  double accuracy = 0.0;
  // Nothing in float32.
  std::optional<double> scale;
  std::int64_t skipped = 0;
};

struct Float16Outcome {
  Underflow underflow;
  // Steps whose gradients were dropped.
  std::int64_t skipped = 0;
  double final_scale = 1.0;
};

struct RunResult {
  // Cross-entropy of all training samples at the end, before the weight.
  double loss = 0.0;
  // Share of the test samples at the end.
  double accuracy = 0.0;
  std::int64_t steps = 0;
  // Nothing in float32.
  std::optional<Float16Outcome> float16;
};

// Trains from the seed: in float16 with `session`, in float32 without. Calls
// `on_epoch` after each epoch.
//
// Everything but the wall time follows from data, seed and configuration of
// the session, whatever happens to the server meanwhile. An error of the
// service ends the run: it is neither apply nor skip.
absl::StatusOr<RunResult> Train(
    const Samples& samples, const TrainingOptions& options, Session* session,
    const std::function<void(const Epoch&)>& on_epoch);

}  // namespace lossscaler::digits

#endif  // LOSSSCALER_CLIENT_EXAMPLES_DIGITS_TRAINER_TRAINING_H_
