// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/shard.h"

#include "digits_trainer/adam.h"

namespace lossscaler::sharded {
namespace {

std::size_t ParameterCount() {
  std::size_t count = 0;
  for (const auto& tensor : digits::ZeroTensors<float>()) {
    count += static_cast<std::size_t>(tensor.size());
  }
  return count;
}

}  // namespace

std::size_t ShardSize() {
  static const std::size_t size = (ParameterCount() + kRanks - 1) / kRanks;
  return size;
}

Eigen::VectorXf Flatten(const digits::Tensors<float>& tensors) {
  Eigen::VectorXf flat =
      Eigen::VectorXf::Zero(static_cast<Eigen::Index>(kRanks * ShardSize()));
  Eigen::Index at = 0;
  for (const auto& tensor : tensors) {
    flat.segment(at, tensor.size()) = tensor.reshaped();
    at += tensor.size();
  }
  return flat;
}

digits::Tensors<float> Unflatten(const Eigen::VectorXf& flat) {
  digits::Tensors<float> tensors = digits::ZeroTensors<float>();
  Eigen::Index at = 0;
  for (auto& tensor : tensors) {
    tensor.reshaped() = flat.segment(at, tensor.size());
    at += tensor.size();
  }
  return tensors;
}

Shard Shard::Untrained(const Eigen::VectorXf& parameters) {
  const Eigen::VectorXf zeros = Eigen::VectorXf::Zero(parameters.size());
  return {.parameters = parameters,
          .first_moments = zeros,
          .second_moments = zeros};
}

void Shard::Step(const Eigen::VectorXf& gradients) {
  digits::AdamStep(++steps, gradients, first_moments, second_moments,
                   parameters);
}

std::array<std::span<std::byte>, 4> PartsOf(Shard& shard) {
  return {std::as_writable_bytes(Elements(shard.parameters)),
          std::as_writable_bytes(Elements(shard.first_moments)),
          std::as_writable_bytes(Elements(shard.second_moments)),
          std::as_writable_bytes(std::span(&shard.steps, 1))};
}

std::uint64_t Fingerprint(std::span<const std::byte> bytes) {
  // FNV-1a.
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::byte byte : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211ull;
  }
  return hash;
}

std::uint64_t Fingerprint(Shard& shard) {
  std::uint64_t hash = 0;
  for (const std::span<std::byte> part : PartsOf(shard)) {
    hash = 31 * hash + Fingerprint(part);
  }
  return hash;
}

}  // namespace lossscaler::sharded
