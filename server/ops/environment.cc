// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ops/setting_sources.h"

namespace lossscaler::server {

SourceReading ReadEnvironment(std::span<const std::string> environment) {
  SourceReading reading;
  std::map<std::string, const Setting*> settings;
  for (const Setting& setting : AllSettings()) {
    settings[setting.Variable()] = &setting;
  }
  const std::string config =
      absl::StrCat(std::string(kVariablePrefix), "CONFIG");

  std::map<std::string, std::string> found;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kVariablePrefix)) continue;
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    const std::string value =
        equals == std::string::npos ? "" : entry.substr(equals + 1);
    if (!found.emplace(name, value).second) {
      reading.problems.push_back(
          absl::StrCat("environment ", name, ": given twice; give it once"));
    }
  }
  for (const auto& [name, value] : found) {
    const std::string origin = absl::StrCat("environment ", name);
    if (name == config) {
      reading.config_file = value;
      continue;
    }
    const auto setting = settings.find(name);
    if (setting == settings.end()) {
      reading.problems.push_back(
          absl::StrCat(origin,
                       ": there is no such setting; variables that "
                       "start with ",
                       std::string(kVariablePrefix),
                       " are this server's, see --help for what there is"));
      continue;
    }
    GivenSetting given{
        .setting = setting->second, .values = {value}, .origin = origin};
    if (setting->second->kind == SettingKind::kList) {
      given.values = absl::StrSplit(value, ',');
    }
    reading.given.push_back(std::move(given));
  }
  return reading;
}

}  // namespace lossscaler::server
