// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a call to unscale asks for, checked: everything that can be refused
// without asking the server is refused here, before any element is touched.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CLIENT_INTERNAL_UNSCALE_PLAN_H_
#define LOSSSCALER_CLIENT_INTERNAL_UNSCALE_PLAN_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "lossscaler/client/gradient.h"

namespace lossscaler::internal {

struct UnscalePlan {
  // As given, with names filled in and the output type of tensors that are
  // only checked made definite.
  std::vector<GradientTensor> tensors;
  // No result is stored.
  bool check_only = false;
  // 16-bit results are stored in the type of the input, not in float32.
  bool keep_type = false;
};

// NO_TENSORS for an empty call. INVALID_TENSOR, naming the tensor, for one
// that has elements but no memory; whose name is not UTF-8, too long or used
// twice; that stores into a type it cannot; whose results would overwrite each
// other or another tensor's memory (memory_overlap.h); that differs from the
// others in being only checked, or in the width of 16-bit results.
absl::StatusOr<UnscalePlan> PlanUnscale(
    std::span<const GradientTensor> tensors);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_UNSCALE_PLAN_H_
