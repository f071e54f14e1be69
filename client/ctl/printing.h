// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What lossscalerctl writes of sessions, losses and servers: tables for people,
// one line of JSON for programs. Decisions are in decision_printing.h, groups
// in group_printing.h.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_PRINTING_H_
#define LOSSSCALER_CTL_PRINTING_H_

#include <string>
#include <vector>

#include "lossscaler/client/connection.h"
#include "lossscaler/core/element_type.h"

namespace lossscaler::ctl {

// The answer to a ScaleLoss, beside what was asked.
struct ScaledLossList {
  const std::vector<float>& losses;
  ElementType loss_type;
  // As many scaled losses as losses.
  const ScaleLossAnswer& answer;
};

// "name: value" lines.
std::string SessionText(const SessionInfo& session);
// A header and a line for each session, in columns.
std::string SessionsText(const std::vector<SessionInfo>& sessions);
std::string ScaledText(const ScaledLossList& list);
std::string ServerText(const ServerInfo& server);

// See json_values.h. Without a line end.
std::string SessionJson(const SessionInfo& session);
std::string SessionsJson(const std::vector<SessionInfo>& sessions);
std::string CreatedJson(const std::string& name, const std::string& uid);
std::string DeletedJson(const std::string& name);
std::string ScaledJson(const ScaledLossList& list);
std::string ServerJson(const ServerInfo& server);
std::string HealthJson(const std::string& state);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_PRINTING_H_
