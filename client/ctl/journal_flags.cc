// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The flags of the commands about decisions.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ctl/command_flags.h"
#include "ctl/journal_commands.h"
#include "ctl/value_flags.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

absl::StatusOr<std::int64_t> ParseCount(std::string_view text) {
  const absl::StatusOr<std::int64_t> count = ParseValue<std::int64_t>(text);
  if (count.ok() && *count < 1) {
    return absl::InvalidArgumentError(Quoted(text) + " is less than 1");
  }
  return count;
}

}  // namespace

Command AddWatch(CLI::App* app) {
  const auto request = std::make_shared<WatchRequest>();
  CLI::App* watch = app->add_subcommand(
      "watch",
      "show the decisions of a session as they fall\n\n"
      "Writes a line for each decision, in order and each once, until it is "
      "interrupted or the session is deleted. A server that restarts is waited "
      "for (--deadline), and nothing is left out.");
  AddSessionName(watch, &request->session);
  AddValueTo<std::int64_t>(
      watch, "--from",
      "begin with this step, 1 with the first that is kept (default: the next "
      "that falls); go on with the last step seen + 1",
      &request->from_step)
      ->type_name("STEP")
      ->check(Check(ParseCount));
  AddValueTo<std::int64_t>(watch, "--count", "end after so many decisions",
                           &request->count)
      ->check(Check(ParseCount));
  watch->footer(
      "lossscalerctl watch team/project/run --deadline 10m\n"
      "lossscalerctl watch team/project/run --from 1 --json | jq .outcome");
  return {.app = watch, .run = [request](const Invocation& invocation) {
            return Watch(invocation.environment, *invocation.Connect(),
                         *request, invocation.format);
          }};
}

Command AddDecisions(CLI::App* app) {
  const auto request = std::make_shared<DecisionsRequest>();
  CLI::App* decisions = app->add_subcommand(
      "decisions",
      "show what was decided and why\n\n"
      "Lists the decisions of a session that the journal keeps, newest first. "
      "With --step it tells all of one: who voted what, who caused a skip, who "
      "was missing.");
  AddSessionName(decisions, &request->session);
  CLI::Option* const step = AddValueTo<std::int64_t>(
      decisions, "--step", "tell all of this step", &request->step);
  AddValueTo<std::int64_t>(
      decisions, "--iteration",
      "only steps in which a vote named this number of the trainer's own",
      &request->iteration)
      ->excludes(step);
  AddValueTo<std::int64_t>(decisions, "--from", "only this step and later ones",
                           &request->from_step)
      ->type_name("STEP")
      ->excludes(step);
  AddValueTo<std::int64_t>(decisions, "--limit", "at most so many (default 20)",
                           &request->limit)
      ->check(Check(ParseCount))
      ->excludes(step);
  decisions->footer(
      "lossscalerctl decisions team/project/run\n"
      "lossscalerctl decisions team/project/run --step 7");
  return {.app = decisions, .run = [request](const Invocation& invocation) {
            return Decisions(invocation.environment, *invocation.Connect(),
                             *request, invocation.format);
          }};
}

}  // namespace lossscaler::ctl
