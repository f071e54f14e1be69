// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What lossscalerctl writes of decisions.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_DECISION_PRINTING_H_
#define LOSSSCALER_CTL_DECISION_PRINTING_H_

#include <string>
#include <vector>

#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::ctl {

// "name: value" lines.
std::string DecidedText(const Decision& decision, const Current& current);
// One line, without its end.
std::string DecisionLine(const Decision& decision);
// A header and a line for each decision, in columns.
std::string DecisionsText(const std::vector<Decision>& decisions);
// Everything that is known of one decision of `session`: what and why, who
// caused it, who voted what.
std::string StoryText(const Decision& decision, const SessionInfo& session);

// See json_values.h. Without a line end.
std::string DecidedJson(const Decision& decision, const Current& current);
std::string DecisionLineJson(const Decision& decision);
std::string DecisionsJson(const std::vector<Decision>& decisions);
// The decision; with "late_overflows" if some came too late to count.
std::string StoryJson(const Decision& decision, const SessionInfo& session);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_DECISION_PRINTING_H_
