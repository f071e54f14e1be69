// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/alone.h"

#include <algorithm>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace lossscaler::sharded {

absl::Status TrainAlone(std::int64_t iterations, LossScaler scaler,
                        Peers& peers, const Lesson& lesson,
                        const Notes& notes) {
  std::vector<Eigen::half> gradients(kRanks * ShardSize());
  Eigen::VectorXf unscaled(static_cast<Eigen::Index>(ShardSize()));
  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    absl::Status status =
        peers.Meet({.step = iteration}, [] { return 0; }).status();
    if (!status.ok()) return status;
    lesson.Backward(peers.parameters(), peers.rank(), iteration,
                    scaler.ScaleLoss(1.0f), gradients);
    status = peers.AllReduce(gradients);
    if (!status.ok()) return status;

    const auto mine = RunOf(peers.rank(), std::span(gradients));
    std::transform(mine.begin(), mine.end(), unscaled.begin(),
                   [&](Eigen::half value) {
                     return scaler.Unscale(static_cast<float>(value));
                   });
    const bool overflow = !unscaled.allFinite();
    const ScalerUpdate update = scaler.Update(overflow);
    if (update.apply) peers.own.Step(unscaled);
    status = notes.Append({.step = iteration,
                           .iteration = iteration,
                           .overflow = overflow,
                           .outcome = update.apply ? "APPLY" : "SKIP_OVERFLOW",
                           .scale_after = update.scale_after});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lossscaler::sharded
