// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The settings table: everything that can be set, once.
//
// Flags, environment, file, help, --print-config and the README all follow this
// table; a setting is added by adding a row.
//
// Thread safety: immutable.

#ifndef LOSSSCALER_SERVER_OPS_SETTINGS_H_
#define LOSSSCALER_SERVER_OPS_SETTINGS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/config.h"

namespace lossscaler::server {

// How a setting is written in TOML: kBool and kInteger bare, kList as an array
// of strings, the others as strings. In the environment a list's entries are
// separated by commas; as a flag it is repeated.
enum class SettingKind { kText, kList, kBool, kInteger, kDuration, kBytes };

using SettingValues = std::vector<std::string>;

struct Setting {
  std::string_view group;
  // The key in the file; flag and variable are made from it.
  std::string_view key;
  SettingKind kind = SettingKind::kText;
  // One value, except for lists.
  SettingValues default_values;
  // One sentence, with the unit where there is one.
  std::string meaning;
  // What values are allowed, as a noun phrase.
  std::string allowed;
  // Checks the values and puts them into the config. Returns what is wrong, or
  // "".
  std::function<std::string(const SettingValues&, Config*)> apply;

  // "--drain-timeout"
  std::string Flag() const;
  // "LOSSSCALERD_DRAIN_TIMEOUT"
  std::string Variable() const;
};

inline constexpr std::string_view kVariablePrefix = "LOSSSCALERD_";

// In the order in which people read them; the groups are contiguous.
const std::vector<Setting>& AllSettings();

// nullptr if there is none.
const Setting* FindSetting(std::string_view key);

// Whether strangers are kept out of the addresses that other machines can
// reach, and nobody on the way reads or changes what is said.
bool IsProtected(const Config& config);

// What no single setting can know: addresses given twice, and open ones that
// nothing protects; a certificate without its key. One line for each problem.
std::vector<std::string> CheckTogether(const Config& config);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_SETTINGS_H_
