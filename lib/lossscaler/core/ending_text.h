// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Why a group's step ended as it did, in words. Internal to core.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CORE_ENDING_TEXT_H_
#define LOSSSCALER_CORE_ENDING_TEXT_H_

#include <string>
#include <vector>

#include "lossscaler/core/decision.h"

namespace lossscaler {

// "'a', 'b' and 3 more".
std::string NameList(const std::vector<std::string>& names);

// `decision` is complete but for its totals; `update` is what it did to the
// scaler.
std::string ExplainEnding(const Decision& decision, const ScalerUpdate& update);

}  // namespace lossscaler

#endif  // LOSSSCALER_CORE_ENDING_TEXT_H_
