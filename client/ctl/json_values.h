// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Sessions and decisions as values of JSON.
//
// Names as in the proto; scalers in their checkpoint form (lossscaler/core/
// loss_scaler_json.h); durations in milliseconds; times as RFC 3339 in UTC. A
// number that JSON does not have is "NaN", "Infinity" or "-Infinity". What is
// not set has no member.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_JSON_VALUES_H_
#define LOSSSCALER_CTL_JSON_VALUES_H_

#include <string>

#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "nlohmann/json.hpp"

namespace lossscaler::ctl {

using Json = nlohmann::ordered_json;

// On one line, without its end. Whatever a server sends is printed: bytes that
// are not UTF-8 are replaced.
std::string Dump(const Json& json);

Json NumberJson(double value);
// The shortest decimal that reads back as the same float32.
Json NumberJson(float value);
Json ScalerJson(const LossScaler& scaler);
Json CurrentJson(const Current& current);
Json DecisionJson(const Decision& decision);
Json GroupJson(const GroupConfig& config);
Json WorkerJson(const MemberView& worker);
Json DegradedJson(const Degraded& degraded);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_JSON_VALUES_H_
