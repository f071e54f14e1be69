// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The group that the ranks train in, and its loss scaler.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_CONFIGURATION_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_CONFIGURATION_H_

#include "absl/time/time.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"
#include "sharded_trainer/shard.h"

namespace lossscaler::sharded {

// High, and quick to grow: overflows are to be seen within seconds.
inline LossScaler InitialScaler() {
  return *LossScaler::Dynamic(/*initial_scale=*/1 << 30, /*growth_factor=*/2.0,
                              /*growth_interval=*/10);
}

// Who shares a network can spare nobody: no step without all ranks.
inline constexpr GroupConfig kGroup = {.min_workers = kRanks,
                                       .max_workers = kRanks,
                                       .lease_ttl = absl::Seconds(5),
                                       .step_timeout = absl::Seconds(10)};

// Of gloo. Longer than step_timeout: what the service can end, it shall end.
inline constexpr absl::Duration kCollectiveTimeout = absl::Seconds(12);

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_CONFIGURATION_H_
