// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Resolves the settings: flag over environment over file over default.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_RESOLVE_H_
#define LOSSSCALER_SERVER_OPS_RESOLVE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/config.h"
#include "ops/setting_sources.h"

namespace lossscaler::server {

struct ResolvedSettings {
  Config config;
  // One for each row of the settings table, in its order; the origin is
  // "default" where nobody said anything.
  std::vector<GivenSetting> settings;
};

// Reads the config file that `flags` or else `environment` names. Every value
// given is checked, also one that another source overrides. An error lists
// everything that is wrong, one line each, and ends the process with
// ExitCode::kConfiguration.
absl::StatusOr<ResolvedSettings> ResolveSettings(
    const SourceReading& flags, const SourceReading& environment);

// The settings as a file for --config, with origins as comments.
std::string PrintConfig(const ResolvedSettings& resolved);

// What --help prints.
std::string HelpText();

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_RESOLVE_H_
