// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The flags of the commands about the workers of a group.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ctl/command_flags.h"
#include "ctl/value_flags.h"
#include "ctl/worker_commands.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

void AddWorkerName(CLI::App* command, std::string* worker) {
  AddValueTo<std::string>(command, "WORKER", "its name in the session: rank-0",
                          worker)
      ->required();
}

void AddIncarnation(CLI::App* command,
                    std::optional<std::int64_t>* incarnation) {
  AddValueTo<std::int64_t>(
      command, "--incarnation",
      "this registration of the worker (default: the one that is in now)",
      incarnation);
}

// "generator=overflow".
absl::StatusOr<PartVote> ParsePart(std::string_view text) {
  const std::size_t sign = text.rfind('=');
  const std::string_view word =
      sign == std::string_view::npos ? "" : text.substr(sign + 1);
  if (sign == 0 || (word != "finite" && word != "overflow")) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is neither NAME=finite nor NAME=overflow"));
  }
  return PartVote{
      .name = std::string(text.substr(0, sign)),
      .verdict = word == "finite" ? Verdict::kFinite : Verdict::kOverflow,
      .sum_of_squares = std::nullopt};
}

void AddParts(CLI::App* vote, std::vector<PartVote>* parts) {
  vote->add_option_function<std::vector<std::string>>(
          "--part",
          [parts](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              parts->push_back(*ParsePart(text));
            }
          },
          "the verdict of one part of the gradients; may be repeated")
      ->type_name("NAME=VERDICT")
      ->allow_extra_args(false)
      ->check(Check(ParsePart));
}

}  // namespace

Command AddWorkers(CLI::App* app) {
  const auto name = std::make_shared<std::string>();
  CLI::App* workers = app->add_subcommand(
      "workers",
      "show the workers of a group\n\n"
      "Shows whether votes are taken and why not, and of each worker its "
      "state, what is left of its lease, its last vote, and the checkpoint "
      "that it has loaded while the session is not open.");
  AddSessionName(workers, name.get());
  workers->footer("lossscalerctl workers team/project/run");
  return {.app = workers, .run = [name](const Invocation& invocation) {
            return Workers(invocation.environment, *invocation.Connect(), *name,
                           invocation.format);
          }};
}

Command AddJoin(CLI::App* app) {
  const auto request = std::make_shared<JoinRequest>();
  CLI::App* join = app->add_subcommand(
      "join",
      "join a group as a worker\n\n"
      "What a trainer does at its start, by hand. Nobody keeps the lease: the "
      "worker is lost unless it votes, or joins again with its --resume-token, "
      "before it runs out.");
  AddSessionName(join, &request->session);
  AddWorkerName(join, &request->worker);
  AddValueTo<std::int64_t>(
      join, "--attempt",
      "the start of the whole job that the worker belongs to; a higher one "
      "than the session's ends the membership of all others (default: that of "
      "the checkpoint, else 0)",
      &request->attempt);
  AddValueTo<std::string>(join, "--resume-token",
                          "take the place of the worker that was given this",
                          &request->resume_token)
      ->type_name("TOKEN");
  CLI::Option* const checkpoint =
      AddValueTo<std::string>(
          join, "--checkpoint",
          "say what the worker has loaded: a checkpoint that a worker saved; - "
          "is standard input",
          &request->checkpoint_file)
          ->type_name("FILE");
  join->add_flag("--from-the-start", request->from_the_start,
                 "say that it has loaded nothing, wherever the session is")
      ->excludes(checkpoint);
  AddValueTo<std::string>(join, "--request-id",
                          "a join repeated under the same id is one join",
                          &request->request_id)
      ->type_name("ID");
  join->footer(
      "lossscalerctl join team/project/run rank-0\n"
      "lossscalerctl join team/project/run rank-0 --attempt 2 "
      "--from-the-start");
  return {.app = join, .run = [request](const Invocation& invocation) {
            return Join(invocation.environment, *invocation.Connect(), *request,
                        invocation.format);
          }};
}

Command AddLeave(CLI::App* app) {
  const auto request = std::make_shared<LeaveRequest>();
  CLI::App* leave = app->add_subcommand(
      "leave",
      "take a worker out of a group\n\n"
      "The others go on without it: in the open step it abstains, unless it "
      "has voted. What it sends from then on is refused as FENCED, so that a "
      "process that is alive after all does no harm.");
  AddSessionName(leave, &request->session);
  AddWorkerName(leave, &request->worker);
  AddIncarnation(leave, &request->incarnation);
  leave->footer("lossscalerctl leave team/project/run rank-3");
  return {.app = leave, .run = [request](const Invocation& invocation) {
            return Leave(invocation.environment, *invocation.Connect(),
                         *request, invocation.format);
          }};
}

Command AddVote(CLI::App* app) {
  const auto request = std::make_shared<VoteRequest>();
  CLI::App* vote = app->add_subcommand(
      "vote",
      "vote for a worker of a group and show the decision\n\n"
      "For debugging: the vote counts as the worker's own, and the worker can "
      "cast no other in that step. It waits for the votes of the others. "
      "Scale and base are those of the step unless they are given, so --finite "
      "says that the worker's parameters contain all that was applied before. "
      "A vote that is repeated is not counted twice.");
  AddSessionName(vote, &request->session);
  AddWorkerName(vote, &request->worker);
  AddValueTo<std::int64_t>(vote, "--step", "the step that is voted on",
                           &request->step)
      ->required();
  AddVerdict(vote, &request->verdict);
  AddIncarnation(vote, &request->incarnation);
  AddGrounds(vote, &request->base, &request->scale_used, &request->iteration);
  AddValueTo<double>(vote, "--sum-of-squares",
                     "the worker's share of the squared global norm",
                     &request->sum_of_squares);
  AddParts(vote, &request->parts);
  AddValueTo<absl::Duration>(
      vote, "--wait",
      "how long to wait for the decision (default: step timeout and lease of "
      "the session)",
      &request->wait);
  vote->footer(
      "lossscalerctl vote team/project/run rank-0 --step 7 --finite\n"
      "lossscalerctl vote team/project/run rank-1 --step 7 --abstain --wait "
      "5s");
  return {.app = vote, .run = [request](const Invocation& invocation) {
            return CastVote(invocation.environment, invocation.options,
                            *request, invocation.format);
          }};
}

}  // namespace lossscaler::ctl
