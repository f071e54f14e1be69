// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The commands about a step, after their flags have been read; `unscale` is in
// unscale_files.h.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_STEP_COMMANDS_H_
#define LOSSSCALER_CTL_STEP_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/environment.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/element_type.h"

namespace lossscaler::ctl {

struct ScaleRequest {
  std::string session;
  std::vector<float> losses;
  // Unset: the step that is open.
  std::optional<std::int64_t> step;
  // The type that the trainer keeps the scaled loss in.
  ElementType loss_type = ElementType::kFloat32;
};
int Scale(const Environment& environment, Connection& connection,
          const ScaleRequest& request, Format format);

struct UpdateRequest {
  std::string session;
  Verdict verdict = Verdict::kUnset;
  // Unset: the step that is open when the command starts, so that the vote is
  // cast once however often it is sent.
  std::optional<std::int64_t> step;
  // Sent only if set.
  std::optional<std::int64_t> base;
  std::optional<double> scale_used;
  std::optional<std::int64_t> iteration;
};
int Update(const Environment& environment, Connection& connection,
           const UpdateRequest& request, Format format);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_STEP_COMMANDS_H_
