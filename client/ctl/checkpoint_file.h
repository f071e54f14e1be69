// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CTL_CHECKPOINT_FILE_H_
#define LOSSSCALER_CTL_CHECKPOINT_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "ctl/environment.h"

namespace lossscaler::ctl {

// The content of `file`, which is "-" for the environment's input.
// INVALID_FIELD if it cannot be read; INVALID_SCALER if it has more than 64
// KiB, which no checkpoint has, neither of a scaler nor of a worker.
//
// Thread safety: a free function without state.
absl::StatusOr<std::string> ReadCheckpointFile(const Environment& environment,
                                               const std::string& file);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_CHECKPOINT_FILE_H_
