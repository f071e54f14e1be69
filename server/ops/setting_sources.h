// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Where settings come from: flags, environment and file. Each source is read
// whole, and says everything that is wrong with it.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_SERVER_OPS_SETTING_SOURCES_H_
#define LOSSSCALER_SERVER_OPS_SETTING_SOURCES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/settings.h"

namespace lossscaler::server {

struct GivenSetting {
  const Setting* setting = nullptr;
  SettingValues values;
  // "flag --x", "environment LOSSSCALERD_X", "file /path:3".
  std::string origin;
};

struct SourceReading {
  std::vector<GivenSetting> given;
  // A path, from --config or LOSSSCALERD_CONFIG.
  std::optional<std::string> config_file;
  // One line each: where, what, and what is allowed.
  std::vector<std::string> problems;
};

struct CommandLine {
  bool help = false;
  bool version = false;
  bool print_config = false;
  bool check_config = false;
  SourceReading settings;
};

// `arguments` without the program's name.
CommandLine ReadCommandLine(std::span<const std::string> arguments);

// `environment` holds "NAME=value" entries. Those that do not start with
// LOSSSCALERD_ are not ours.
SourceReading ReadEnvironment(std::span<const std::string> environment);

SourceReading ReadConfigFile(const std::string& path);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SETTING_SOURCES_H_
