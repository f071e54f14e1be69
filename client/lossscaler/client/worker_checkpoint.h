// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a worker saves beside its parameters, as bytes: one line of JSON.
//
//   {"scaler":{"Dynamic":{...}},"base":{"session_uid":"...","step":41},
//    "iteration":42,"attempt":1}
//
// `scaler` is the form of lossscaler/core/loss_scaler_json.h. `iteration` is
// left out if the trainer names none.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CLIENT_WORKER_CHECKPOINT_H_
#define LOSSSCALER_CLIENT_WORKER_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lossscaler/core/group.h"

namespace lossscaler {

struct WorkerCheckpoint {
  // Scaler, base and the next iteration.
  Checkpoint checkpoint;
  // The start of the whole job that saved it. A launcher that starts the job
  // again from this checkpoint gives every worker a higher one.
  std::int64_t attempt = 0;

  friend bool operator==(const WorkerCheckpoint&,
                         const WorkerCheckpoint&) = default;
};

std::string ToBytes(const WorkerCheckpoint& checkpoint);

// INVALID_FIELD if the bytes are none of ToBytes(), INVALID_SCALER if the
// scaler in them is none.
absl::StatusOr<WorkerCheckpoint> WorkerCheckpointFromBytes(
    std::string_view bytes);

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_WORKER_CHECKPOINT_H_
