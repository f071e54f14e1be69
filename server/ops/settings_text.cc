// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ops/resolve.h"

namespace lossscaler::server {
namespace {

std::string TomlString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (std::iscntrl(static_cast<unsigned char>(c)) != 0) {
      absl::StrAppendFormat(&quoted, "\\u%04X", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string TomlValue(const GivenSetting& given) {
  switch (given.setting->kind) {
    case SettingKind::kBool:
    case SettingKind::kInteger:
      return given.values.front();
    case SettingKind::kList:
      return absl::StrCat(
          "[",
          absl::StrJoin(given.values, ", ",
                        [](std::string* out, const std::string& value) {
                          out->append(TomlString(value));
                        }),
          "]");
    case SettingKind::kText:
    case SettingKind::kDuration:
    case SettingKind::kBytes:
      break;
  }
  return TomlString(given.values.front());
}

// A path may contain what would end the comment.
std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  }
  return line;
}

}  // namespace

std::string PrintConfig(const ResolvedSettings& resolved) {
  std::string text;
  std::string_view group;
  for (const GivenSetting& given : resolved.settings) {
    if (given.setting->group != group) {
      absl::StrAppend(&text, group.empty() ? "" : "\n", "# ",
                      std::string(given.setting->group), "\n");
      group = given.setting->group;
    }
    absl::StrAppend(&text, std::string(given.setting->key), " = ",
                    TomlValue(given), "  # ", OneLine(given.origin), "\n");
  }
  return text;
}

}  // namespace lossscaler::server
