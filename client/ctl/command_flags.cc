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

void AddVerdict(CLI::App* command, Verdict* verdict) {
  CLI::App* const choices = AddExclusiveGroup(command, "verdict");
  const auto add = [&](const std::string& flag, Verdict value,
                       const std::string& help) {
    choices->add_flag_callback(
        flag, [verdict, value] { *verdict = value; }, help);
  };
  add("--finite", Verdict::kFinite, "every gradient was finite");
  add("--overflow", Verdict::kOverflow, "a gradient was infinite or NaN");
  add("--skip", Verdict::kSkip, "drop the step, whatever the gradients were");
  add("--abstain", Verdict::kAbstain, "there were no gradients");
}

void AddGrounds(CLI::App* command, std::optional<std::int64_t>* base,
                std::optional<double>* scale_used,
                std::optional<std::int64_t>* iteration) {
  AddValueTo<std::int64_t>(command, "--base",
                           "the applied step that the parameters are at", base);
  AddValueTo<double>(command, "--scale-used",
                     "the scale that the gradients were made with", scale_used)
      ->type_name("SCALE");
  AddValueTo<std::int64_t>(command, "--iteration",
                           "the trainer's own number of the step", iteration);
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
