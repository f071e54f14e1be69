// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/lesson.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include "digits_trainer/float16.h"
#include "digits_trainer/network.h"
#include "digits_trainer/training.h"
#include "sharded_trainer/shard.h"

namespace lossscaler::sharded {
namespace {

constexpr digits::Precision kFloat16 = digits::Precision::kFloat16;
constexpr std::size_t kShare = digits::kBatchSize / kRanks;

// Every epoch has an order of its own, so that an iteration's batch does not
// depend on where the run began.
std::vector<std::size_t> OrderOf(std::uint64_t epoch, std::uint64_t seed,
                                 std::size_t samples) {
  std::vector<std::size_t> order(samples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::seed_seq seeds = {seed, epoch};
  std::mt19937_64 random(seeds);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

absl::StatusOr<Lesson> Lesson::Load(const std::string& path,
                                    std::uint64_t seed) {
  const absl::StatusOr<digits::Samples> samples = digits::LoadSamples(path);
  if (!samples.ok()) return samples.status();
  return Lesson(*samples, seed);
}

Lesson::Lesson(const digits::Samples& samples, std::uint64_t seed)
    : seed_(seed) {
  std::mt19937_64 random(seed);
  digits_ = digits::Split(samples, random);
}

Eigen::VectorXf Lesson::InitialParameters() const {
  std::mt19937_64 random(seed_);
  return Flatten(digits::InitialParameters(random));
}

void Lesson::Backward(const Eigen::VectorXf& parameters, int rank,
                      std::int64_t iteration, float scale,
                      std::span<Eigen::half> gradients) const {
  const std::size_t batches = digits_.train.count() / digits::kBatchSize;
  const auto number = static_cast<std::uint64_t>(iteration);
  const std::vector<std::size_t> order =
      OrderOf(number / batches, seed_, digits_.train.count());
  const auto share =
      order.begin() +
      static_cast<std::ptrdiff_t>(number % batches * digits::kBatchSize +
                                  static_cast<std::size_t>(rank) * kShare);
  const digits::Samples samples = digits_.train.Select({share, share + kShare});

  const digits::Forward forward =
      digits::RunForward(kFloat16, Unflatten(parameters), samples.images);
  const Eigen::VectorXf flat =
      Flatten(digits::RunBackward(kFloat16, forward, samples.labels,
                                  digits::kLossWeight * scale / kRanks)
                  .parameters);
  std::transform(flat.begin(), flat.end(), gradients.begin(),
                 [](float value) { return Eigen::half(value); });
}

Score Lesson::Examine(const Eigen::VectorXf& parameters) const {
  const digits::Tensors<float> tensors = Unflatten(parameters);
  const auto logits = [&](const digits::Samples& samples) {
    return digits::RunForward(kFloat16, tensors, samples.images).logits;
  };
  return {
      .loss = digits::CrossEntropy(logits(digits_.train), digits_.train.labels),
      .accuracy = digits::Accuracy(logits(digits_.test), digits_.test.labels)};
}

}  // namespace lossscaler::sharded
