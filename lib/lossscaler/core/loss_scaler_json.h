// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The externally tagged JSON form of a LossScaler, for checkpoints:
//
//   "None"
//   {"Static":{"scale":1024.0}}
//   {"Dynamic":{"scale":32768.0,"growth_factor":2.0,"backoff_factor":0.5,
//               "growth_interval":2000,"steps_since_overflow":0}}
//
// Numbers are written so that they read back as the same value in the state's
// own precision: float32 in its shortest form (0.1, not 0.10000000149011612),
// float64 in at most 17 digits. They are read straight into that precision.
// Knobs that differ from their defaults, and the counters that belong to them,
// are further members of Dynamic, named as in DynamicOptions and DynamicState;
// enumerators are lower-case words ("on_clean_step"). The first five members
// are required when reading; hysteresis_left, when missing, is full.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_LOSS_SCALER_JSON_H_
#define LOSSSCALER_CORE_LOSS_SCALER_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler {

// One line, without spaces.
std::string ToJson(const LossScaler& scaler);

// Reads what ToJson() writes, and any other JSON spelling of it. Everything
// else is INVALID_SCALER with the place and what was expected there: text that
// is not JSON or goes on after the value, an unknown variant, a missing,
// doubled or unknown member, a wrong type, null, a number out of range, or a
// configuration that LossScaler refuses.
absl::StatusOr<LossScaler> LossScalerFromJson(std::string_view json);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_LOSS_SCALER_JSON_H_
