// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Shard: one rank's part of the network, and of the optimizer's state (ZeRO,
// Rajbhandari et al., 2020, stage 2: everyone has all parameters for the
// forward pass, and updates those of its own part only).
//
// The parameters of all tensors, one after the other, are cut into equal runs.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_SHARD_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_SHARD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "Eigen/Core"
#include "digits_trainer/network.h"

namespace lossscaler::sharded {

inline constexpr int kRanks = 4;

// Elements of a shard: a quarter of the parameters, rounded up.
std::size_t ShardSize();

// All shards, the last one filled up with zeros.
Eigen::VectorXf Flatten(const digits::Tensors<float>& tensors);
digits::Tensors<float> Unflatten(const Eigen::VectorXf& flat);

struct Shard {
  Eigen::VectorXf parameters;
  Eigen::VectorXf first_moments;
  Eigen::VectorXf second_moments;
  std::int64_t steps = 0;

  static Shard Untrained(const Eigen::VectorXf& parameters);

  // A step of Adam. Whoever takes the same steps has the same bits.
  void Step(const Eigen::VectorXf& gradients);
};

// Everything in it, as memory.
std::array<std::span<std::byte>, 4> PartsOf(Shard& shard);

// Of two values that differ in a bit they differ, as good as always.
std::uint64_t Fingerprint(std::span<const std::byte> bytes);
std::uint64_t Fingerprint(Shard& shard);

inline std::span<float> Elements(Eigen::VectorXf& vector) {
  return {vector.data(), static_cast<std::size_t>(vector.size())};
}

// Rank `rank`'s run of something as long as all shards.
template <typename T>
std::span<T> RunOf(int rank, std::span<T> all) {
  const std::size_t size = all.size() / kRanks;
  return all.subspan(static_cast<std::size_t>(rank) * size, size);
}

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_SHARD_H_
