// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What `create` is told about the scaler.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_SCALER_FLAGS_H_
#define LOSSSCALER_CTL_SCALER_FLAGS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler::ctl {

// Exactly one of the first four.
struct ScalerFlags {
  // A knob of a Dynamic scaler that was given.
  struct Change {
    std::string flag;
    std::function<void(DynamicOptions*)> make;
  };

  bool none = false;
  std::optional<double> static_scale;
  bool dynamic = false;
  std::optional<std::string> preset;
  std::vector<Change> changes;
};

void AddScalerFlags(CLI::App* create, ScalerFlags* flags);

// INVALID_ARGUMENT without a reason says what is wrong with the command line;
// INVALID_SCALER, with the scaler.
absl::StatusOr<LossScaler> MakeScaler(const ScalerFlags& flags);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_SCALER_FLAGS_H_
