// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/resolve.h"

namespace lossscaler::server {
namespace {

constexpr std::size_t kHelpWidth = 79;
constexpr std::size_t kHelpIndent = 6;

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

std::string Wrapped(const std::string& text) {
  std::string out;
  std::string line;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!line.empty() &&
        kHelpIndent + line.size() + 1 + word.size() > kHelpWidth) {
      absl::StrAppend(&out, std::string(kHelpIndent, ' '), line, "\n");
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line.append(word.data(), word.size());
  }
  absl::StrAppend(&out, std::string(kHelpIndent, ' '), line, "\n");
  return out;
}

std::string_view Placeholder(SettingKind kind) {
  switch (kind) {
    case SettingKind::kText:
      return " TEXT";
    case SettingKind::kList:
      return " ADDR";
    case SettingKind::kBool:
      return "";
    case SettingKind::kInteger:
      return " NUMBER";
    case SettingKind::kDuration:
      return " DURATION";
    case SettingKind::kBytes:
      return " SIZE";
  }
  return "";
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

std::string HelpText() {
  std::string text =
      "lossscalerd: one loss scale and one decision per step for every worker "
      "of a\ntraining run.\n\n"
      "usage: lossscalerd [FLAG]...\n\n"
      "  --config FILE  [LOSSSCALERD_CONFIG]\n"
      "      Read settings from a TOML file. Flags override the environment, "
      "which\n      overrides the file, which overrides the defaults.\n"
      "  --print-config\n"
      "      Print every setting and its origin as such a file, and exit.\n"
      "  --check-config\n"
      "      Check the settings, and exit.\n"
      "  --version\n"
      "      Print the version, and exit.\n"
      "  --help, -h\n"
      "      Print this, and exit.\n";
  std::string_view group;
  for (const Setting& setting : AllSettings()) {
    if (setting.group != group) {
      absl::StrAppend(&text, "\n", std::string(setting.group), "\n");
      group = setting.group;
    }
    absl::StrAppend(&text, "  ", setting.Flag(),
                    std::string(Placeholder(setting.kind)), "  [",
                    setting.Variable(), "]\n");
    const std::string initial = absl::StrJoin(setting.default_values, ",");
    absl::StrAppend(&text, Wrapped(setting.meaning),
                    Wrapped(absl::StrCat("Allowed: ", setting.allowed, ".")),
                    Wrapped(absl::StrCat(
                        "Default: ", initial.empty() ? "none" : initial, ".")));
  }
  absl::StrAppend(&text,
                  "\nExit codes: 0 drained, 1 configuration, 2 bind, 3 store, "
                  "4 drain timed out.\n");
  return text;
}

}  // namespace lossscaler::server
