// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/resolve.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/exit_code.h"

namespace lossscaler::server {
namespace {

// A later reading overrides an earlier one.
void Override(const SourceReading& reading, ResolvedSettings* resolved,
              std::vector<std::string>* problems) {
  for (const std::string& problem : reading.problems) {
    problems->push_back(problem);
  }
  for (const GivenSetting& given : reading.given) {
    const std::string wrong =
        given.setting->apply(given.values, &resolved->config);
    if (!wrong.empty()) {
      problems->push_back(
          absl::StrCat(given.origin, ": ", std::string(given.setting->key),
                       ": ", wrong, "; allowed: ", given.setting->allowed));
    }
    const std::size_t row =
        static_cast<std::size_t>(given.setting - AllSettings().data());
    resolved->settings[row] = given;
  }
}

}  // namespace

absl::StatusOr<ResolvedSettings> ResolveSettings(
    const SourceReading& flags, const SourceReading& environment) {
  ResolvedSettings resolved;
  std::vector<std::string> problems;
  for (const Setting& setting : AllSettings()) {
    resolved.settings.push_back({.setting = &setting,
                                 .values = setting.default_values,
                                 .origin = "default"});
  }
  const std::optional<std::string>& file = flags.config_file.has_value()
                                               ? flags.config_file
                                               : environment.config_file;
  if (file.has_value()) Override(ReadConfigFile(*file), &resolved, &problems);
  Override(environment, &resolved, &problems);
  Override(flags, &resolved, &problems);
  for (std::string& problem : CheckTogether(resolved.config)) {
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) {
    return MakeExitError(ExitCode::kConfiguration,
                         absl::StrJoin(problems, "\n"));
  }
  return resolved;
}

}  // namespace lossscaler::server
