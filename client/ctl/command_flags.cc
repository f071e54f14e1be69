// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/command_flags.h"

#include "ctl/commands.h"
#include "ctl/failure.h"
#include "ctl/value_flags.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {

std::shared_ptr<Connection> Invocation::Connect() const {
  return environment.connect(options);
}

int Invocation::Fail(const absl::Status& error) const {
  if (!ReasonNameOf(error).empty()) {
    return ctl::Fail(environment, format, error);
  }
  return WrongUsage(environment, format, command, std::string(error.message()));
}

void AddSessionName(CLI::App* command, std::string* name) {
  AddValueTo<std::string>(command, "NAME", "the session: team/project/run",
                          name)
      ->required();
}

void AddStep(CLI::App* command, std::optional<std::int64_t>* step) {
  AddValueTo<std::int64_t>(command, "--step",
                           "the step (default: the one that is open)", step);
}

Command AddHealth(CLI::App* app) {
  CLI::App* health = app->add_subcommand(
      "health",
      "ask whether the server serves\n\n"
      "Writes SERVING or NOT_SERVING. A server that is starting or draining "
      "answers and does not serve.");
  health->footer(
      "lossscalerctl health --deadline 500ms || echo the server is not there");
  return {.app = health, .run = [](const Invocation& invocation) {
            return Health(invocation.environment, invocation.options,
                          invocation.format);
          }};
}

Command AddInfo(CLI::App* app) {
  CLI::App* info = app->add_subcommand(
      "info",
      "show version, store and limits of the server\n\n"
      "Starts are how often a server was started on this state. Durability "
      "\"full\" means that every answered change is on disk.");
  info->footer("lossscalerctl info --json");
  return {.app = info, .run = [](const Invocation& invocation) {
            return Info(invocation.environment, *invocation.Connect(),
                        invocation.format);
          }};
}

}  // namespace lossscaler::ctl
