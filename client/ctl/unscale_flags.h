// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What `unscale` is told.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_UNSCALE_FLAGS_H_
#define LOSSSCALER_CTL_UNSCALE_FLAGS_H_

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "ctl/unscale_files.h"

namespace lossscaler::ctl {

struct UnscaleFlags {
  UnscaleRequest request;
  bool check_only = false;
  bool progress = false;
  bool no_progress = false;
};

void AddUnscaleFlags(CLI::App* unscale, UnscaleFlags* flags);

// INVALID_ARGUMENT, without a reason, if flags contradict each other.
absl::StatusOr<UnscaleRequest> MakeUnscaleRequest(const UnscaleFlags& flags,
                                                  bool progress_by_default);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_UNSCALE_FLAGS_H_
