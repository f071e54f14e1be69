// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What lossscalerctl writes of groups and their workers.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_GROUP_PRINTING_H_
#define LOSSSCALER_CTL_GROUP_PRINTING_H_

#include <string>
#include <vector>

#include "ctl/table.h"
#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

// Lines "name: value". Where a group stands.
// REQUIRES: session.group.
std::vector<Row> StandingRows(const SessionInfo& session);
// What keeps a session of any kind from getting anywhere; none if nothing does.
std::vector<Row> DegradedRows(const SessionInfo& session);
// How it is configured.
std::vector<Row> GroupRows(const GroupConfig& config);

// Where the group stands, and a line for each worker.
std::string WorkersText(const SessionInfo& session);
std::string JoinedText(const std::string& worker, const JoinAnswer& joined);
std::string LeftText(const WorkerRef& worker);

// See json_values.h. Without a line end.
std::string WorkersJson(const SessionInfo& session);
std::string JoinedJson(const std::string& worker, const JoinAnswer& joined);
std::string LeftJson(const WorkerRef& worker);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_GROUP_PRINTING_H_
