// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/setting_sources.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include "toml++/toml.h"

namespace lossscaler::server {
namespace {

std::string_view HowWritten(SettingKind kind) {
  switch (kind) {
    case SettingKind::kText:
      return "a string";
    case SettingKind::kList:
      return "an array of strings";
    case SettingKind::kBool:
      return "true or false without quotes";
    case SettingKind::kInteger:
      return "a number without quotes";
    case SettingKind::kDuration:
      return "a string with a unit, such as \"20s\"";
    case SettingKind::kBytes:
      return "a string with a unit, such as \"256MiB\"";
  }
  return "";
}

// nullopt: the value is of another TOML type than the setting.
std::optional<SettingValues> ValuesOf(const toml::node& node,
                                      SettingKind kind) {
  switch (kind) {
    case SettingKind::kBool:
      if (const auto* const value = node.as_boolean()) {
        return SettingValues{value->get() ? "true" : "false"};
      }
      return std::nullopt;
    case SettingKind::kInteger:
      if (const auto* const value = node.as_integer()) {
        return SettingValues{std::to_string(value->get())};
      }
      return std::nullopt;
    case SettingKind::kList: {
      const toml::array* const array = node.as_array();
      if (array == nullptr) return std::nullopt;
      SettingValues values;
      for (const toml::node& element : *array) {
        const auto* const value = element.as_string();
        if (value == nullptr) return std::nullopt;
        values.push_back(value->get());
      }
      return values;
    }
    case SettingKind::kText:
    case SettingKind::kDuration:
    case SettingKind::kBytes:
      if (const auto* const value = node.as_string()) {
        return SettingValues{value->get()};
      }
      return std::nullopt;
  }
  return std::nullopt;
}

std::string FileOrigin(const std::string& path, toml::source_index line) {
  return absl::StrCat("file ", path, ":", line);
}

}  // namespace

SourceReading ReadConfigFile(const std::string& path) {
  SourceReading reading;
  const auto refuse = [&](std::string_view why) {
    reading.problems.push_back(
        absl::StrCat("file ", path, ": cannot be read: ", std::string(why)));
    return reading;
  };
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return refuse(strerror(errno));
  if (S_ISDIR(found.st_mode)) return refuse("it is a folder");
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream),
                         std::istreambuf_iterator<char>()};
  if (!stream) return refuse(strerror(errno));

  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    reading.problems.push_back(
        absl::StrCat(FileOrigin(path, error.source().begin.line), ": ",
                     std::string(error.description()),
                     "; the file must be TOML 1.0, with each key once"));
    return reading;
  }
  for (const auto& [key, node] : parsed.table()) {
    const std::string origin = FileOrigin(path, key.source().begin.line);
    const Setting* const setting = FindSetting(key.str());
    if (setting == nullptr) {
      reading.problems.push_back(absl::StrCat(
          origin, ": there is no setting \"", std::string(key.str()),
          "\"; see --help for what there is"));
      continue;
    }
    std::optional<SettingValues> values = ValuesOf(node, setting->kind);
    if (!values.has_value()) {
      reading.problems.push_back(absl::StrCat(
          origin, ": ", std::string(setting->key), ": must be written as ",
          std::string(HowWritten(setting->kind)),
          "; allowed: ", setting->allowed));
      continue;
    }
    reading.given.push_back(
        {.setting = setting, .values = *std::move(values), .origin = origin});
  }
  return reading;
}

}  // namespace lossscaler::server
