// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What lossscalerctl writes: tables for people, one line of JSON for programs.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_PRINTING_H_
#define LOSSSCALER_CTL_PRINTING_H_

#include <string>
#include <vector>

#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

// "name: value" lines.
std::string SessionText(const SessionInfo& session);
// A header and a line for each session, in columns.
std::string SessionsText(const std::vector<SessionInfo>& sessions);

// Names as in the proto; config and scaler in their checkpoint form
// (lossscaler/core/loss_scaler_json.h). Without a line end.
std::string SessionJson(const SessionInfo& session);
std::string SessionsJson(const std::vector<SessionInfo>& sessions);
std::string CreatedJson(const std::string& name, const std::string& uid);
std::string DeletedJson(const std::string& name);
std::string HealthJson(const std::string& state);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_PRINTING_H_
