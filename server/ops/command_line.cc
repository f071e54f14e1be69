// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <map>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "ops/setting_sources.h"

namespace lossscaler::server {
namespace {

constexpr char kSeeHelp[] = "see --help for what there is";

// CLI11 would take the next argument for the value that is missing.
std::vector<std::string> WithoutEmptyValues(
    std::span<const std::string> arguments, const CLI::App& app,
    SourceReading* reading) {
  std::vector<std::string> kept;
  for (const std::string& argument : arguments) {
    const bool empty = argument.starts_with("--") && argument.ends_with('=');
    const std::string flag = argument.substr(0, argument.size() - 1);
    if (!empty || app.get_option_no_throw(flag) == nullptr) {
      kept.push_back(argument);
      continue;
    }
    // Empty is a value that a text setting may have.
    const auto* const setting = [&]() -> const Setting* {
      for (const Setting& each : AllSettings()) {
        if (each.Flag() == flag) return &each;
      }
      return nullptr;
    }();
    if (setting != nullptr && setting->kind == SettingKind::kText) {
      reading->given.push_back({.setting = setting,
                                .values = {""},
                                .origin = absl::StrCat("flag ", flag)});
    } else {
      reading->problems.push_back(
          absl::StrCat("flag ", flag, ": the value is missing"));
    }
  }
  return kept;
}

bool Given(const CLI::Option* option) { return !option->results().empty(); }

}  // namespace

CommandLine ReadCommandLine(std::span<const std::string> arguments) {
  CommandLine line;
  SourceReading& reading = line.settings;

  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  const CLI::Option* const help = app.add_flag("--help,-h");
  const CLI::Option* const version = app.add_flag("--version");
  const CLI::Option* const print_config = app.add_flag("--print-config");
  const CLI::Option* const check_config = app.add_flag("--check-config");
  const auto add_value = [&app](const std::string& flag) {
    CLI::Option* const option = app.add_option(flag);
    // One value for each time it is given; how often that may be is ours to
    // say.
    option->type_size(1)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return option;
  };
  const CLI::Option* const config = add_value("--config");
  std::map<const Setting*, const CLI::Option*> options;
  for (const Setting& setting : AllSettings()) {
    options[&setting] = setting.kind == SettingKind::kBool
                            ? app.add_flag(setting.Flag())
                            : add_value(setting.Flag());
  }

  std::vector<std::string> reversed =
      WithoutEmptyValues(arguments, app, &reading);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    reading.problems.push_back(
        absl::StrCat("command line: ", error.what(), "; ", kSeeHelp));
  }
  for (const std::string& extra : app.remaining()) {
    reading.problems.push_back(absl::StrCat("command line: \"", extra,
                                            "\" is not a flag of this server; ",
                                            kSeeHelp));
  }
  line.help = Given(help);
  line.version = Given(version);
  line.print_config = Given(print_config);
  line.check_config = Given(check_config);

  // A value that looks like a flag is a flag whose own value was forgotten.
  const auto check = [&reading](const std::string& flag,
                                const std::vector<std::string>& values,
                                bool repeatable) {
    for (const std::string& value : values) {
      if (value.starts_with("--")) {
        reading.problems.push_back(absl::StrCat(
            "flag ", flag, ": the value is missing; \"", value, "\" follows"));
        return false;
      }
    }
    if (values.size() > 1 && !repeatable) {
      reading.problems.push_back(absl::StrCat(
          "flag ", flag, ": given ", values.size(), " times; give it once"));
      return false;
    }
    return !values.empty();
  };
  if (check("--config", config->results(), false)) {
    reading.config_file = config->results().front();
  }
  for (const Setting& setting : AllSettings()) {
    const std::string flag = setting.Flag();
    const std::vector<std::string> values = options[&setting]->results();
    if (check(flag, values, setting.kind == SettingKind::kList)) {
      reading.given.push_back({.setting = &setting,
                               .values = values,
                               .origin = absl::StrCat("flag ", flag)});
    }
  }
  return line;
}

}  // namespace lossscaler::server
