// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The trainer's own checkpoint: a shard, and the bytes of
// WorkerSession::Checkpoint() beside it.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_SAVED_SHARD_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_SAVED_SHARD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sharded_trainer/shard.h"

namespace lossscaler::sharded {

struct SavedShard {
  // One line, of WorkerSession::Checkpoint().
  std::string session;
  Shard shard;
};

// The file is there as a whole or not at all.
absl::Status Save(const std::string& path, const SavedShard& saved);

absl::StatusOr<SavedShard> LoadSavedShard(const std::string& path);

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_SAVED_SHARD_H_
