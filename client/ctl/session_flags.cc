// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The flags of the commands about sessions.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ctl/command_flags.h"
#include "ctl/commands.h"
#include "ctl/group_flags.h"
#include "ctl/scaler_flags.h"
#include "ctl/value_flags.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {

Command AddCreate(CLI::App* app) {
  struct Flags {
    std::string name;
    ScalerFlags scaler;
    GroupFlags group;
    bool exist_ok = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* create = app->add_subcommand(
      "create",
      "create a session\n\n"
      "A session holds the loss scale of one training run. Its scaler is fixed "
      "here; the scale itself begins at --init-scale and follows the "
      "overflows. With --max-workers it is a group session: workers join it, "
      "vote once in each step, and all receive the same decision.");
  AddSessionName(create, &flags->name);
  AddScalerFlags(create, &flags->scaler);
  AddGroupFlags(create, &flags->group);
  create->add_flag(
      "--exist-ok", flags->exist_ok,
      "a session of that name that is configured alike is success");
  create->footer(
      "lossscalerctl create team/project/run --dynamic --init-scale 1024\n"
      "lossscalerctl create team/project/run --preset megatron --hysteresis 4\n"
      "lossscalerctl create team/project/run --dynamic --max-workers 4");
  return {.app = create, .run = [flags](const Invocation& invocation) {
            const absl::StatusOr<LossScaler> scaler = MakeScaler(flags->scaler);
            if (!scaler.ok()) return invocation.Fail(scaler.status());
            const absl::StatusOr<std::optional<GroupConfig>> group =
                MakeGroup(flags->group);
            if (!group.ok()) return invocation.Fail(group.status());
            return Create(
                invocation.environment, *invocation.Connect(), flags->name,
                *scaler, *group,
                flags->exist_ok ? IfExists::kReturnIfEqual : IfExists::kFail,
                invocation.format);
          }};
}

Command AddGet(CLI::App* app) {
  struct Flags {
    std::string name;
    bool checkpoint = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* get = app->add_subcommand(
      "get",
      "show a session\n\n"
      "Shows scale, open step, counters and the last decision of a session; of "
      "a group also whether votes are taken, and how it is configured.");
  AddSessionName(get, &flags->name);
  get->add_flag("--checkpoint", flags->checkpoint,
                "write nothing but the scaler, as `restore` reads it");
  get->footer(
      "lossscalerctl get team/project/run\n"
      "lossscalerctl get team/project/run --checkpoint > scaler.json");
  return {.app = get, .run = [flags](const Invocation& invocation) {
            return (flags->checkpoint ? GetCheckpoint : Get)(
                invocation.environment, *invocation.Connect(), flags->name,
                invocation.format);
          }};
}

Command AddList(CLI::App* app) {
  const auto prefix = std::make_shared<std::string>();
  CLI::App* list = app->add_subcommand(
      "list", "list sessions by name\n\nLists every session, one on a line.");
  list->add_option("PREFIX", *prefix, "only names that start with this");
  list->footer("lossscalerctl list team/project/");
  return {.app = list, .run = [prefix](const Invocation& invocation) {
            return List(invocation.environment, Client(invocation.Connect()),
                        *prefix, invocation.format);
          }};
}

Command AddDelete(CLI::App* app) {
  const auto name = std::make_shared<std::string>();
  CLI::App* remove = app->add_subcommand(
      "delete",
      "delete a session and its journal\n\n"
      "Nothing of the session remains. Trainers that still use it are told "
      "that there is none.");
  AddSessionName(remove, name.get());
  remove->footer("lossscalerctl delete team/project/run");
  return {.app = remove, .run = [name](const Invocation& invocation) {
            return Delete(invocation.environment, *invocation.Connect(), *name,
                          invocation.format);
          }};
}

Command AddRestore(CLI::App* app) {
  const auto request = std::make_shared<RestoreRequest>();
  CLI::App* restore = app->add_subcommand(
      "restore",
      "set the scaler of a session to a checkpoint\n\n"
      "The scaler in FILE must have the configuration that the session was "
      "created with. The restore is a decision: it takes the number of the "
      "open step, begins another epoch, and is shown.");
  AddSessionName(restore, &request->session);
  AddValueTo<std::string>(restore, "FILE",
                          "what `get NAME --checkpoint` wrote, at most 64 KiB; "
                          "- is standard input",
                          &request->file)
      ->required();
  AddValueTo<std::int64_t>(restore, "--if-epoch",
                           "only if the session is in this epoch",
                           &request->if_epoch);
  AddValueTo<std::string>(
      restore, "--request-id",
      "a restore repeated under the same id is not done again",
      &request->request_id)
      ->type_name("ID");
  restore->footer(
      "lossscalerctl restore team/project/run scaler.json --if-epoch 1");
  return {.app = restore, .run = [request](const Invocation& invocation) {
            return Restore(invocation.environment, *invocation.Connect(),
                           *request, invocation.format);
          }};
}

}  // namespace lossscaler::ctl
