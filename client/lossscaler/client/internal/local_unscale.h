// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Unscaling on this machine: the server's kernel over the caller's memory.
//
// From a million elements on, all tensors together, on every processor that the
// calling thread may use; the threads are gone when the call returns.

#ifndef LOSSSCALER_CLIENT_INTERNAL_LOCAL_UNSCALE_H_
#define LOSSSCALER_CLIENT_INTERNAL_LOCAL_UNSCALE_H_

#include <vector>

#include "lossscaler/client/internal/unscale_plan.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler::internal {

// One verdict for each tensor of the plan. Results have the same bits as the
// server's, verdicts too, apart from the sum's tolerance (core/unscale.h). The
// sum does not depend on the number of processors.
//
// Thread safety: may run at once on disjoint memory.
std::vector<UnscaleVerdict> UnscaleInMemory(
    const UnscalePlan& plan, const UnscaleParameters& parameters);

}  // namespace lossscaler::internal

#endif  // LOSSSCALER_CLIENT_INTERNAL_LOCAL_UNSCALE_H_
