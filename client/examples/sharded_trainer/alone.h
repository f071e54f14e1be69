// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The same training loop without the service: every rank has a loss scale of
// its own and decides by its own shard.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_ALONE_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_ALONE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lossscaler/core/loss_scaler.h"
#include "sharded_trainer/lesson.h"
#include "sharded_trainer/notes.h"
#include "sharded_trainer/peers.h"

namespace lossscaler::sharded {

absl::Status TrainAlone(std::int64_t iterations, LossScaler scaler,
                        Peers& peers, const Lesson& lesson, const Notes& notes);

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_ALONE_H_
