// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/command_line.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ctl/command_flags.h"
#include "ctl/connection_flags.h"
#include "ctl/exit_code.h"
#include "ctl/failure.h"
#include "ctl/help_formatter.h"
#include "ctl/value_flags.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

// The whole command line.
struct CommandLine {
  CommandLine();

  CLI::App app;
  ConnectionFlags connection;
  bool json = false;
  std::vector<Command> commands;
};

CommandLine::CommandLine()
    : app("look after the sessions of a loss scaler service\n\n"
          "Creates, shows and changes the sessions of a lossscalerd server, "
          "and does by hand what a trainer does in each step: scale the loss, "
          "unscale the gradients, vote, and hear the decision. Results are "
          "written to standard output, errors to standard error as one line. "
          "Options may stand before or after the command.",
          "lossscalerctl") {
  // Commands inherit what is set before they are added.
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "show this page, or that of a command");
  app.fallthrough();
  app.require_subcommand(1);
  app.set_version_flag("--version", "lossscalerctl " LOSSSCALER_VERSION,
                       "show the version");
  app.add_flag("--json", json,
               "write the result as one line of JSON, and an error too; that a "
               "signal ended it is said in plain text");
  AddConnectionFlags(&app, &connection);
  app.footer(
      "lossscalerd &\n"
      "lossscalerctl create team/project/run --dynamic\n"
      "lossscalerctl list --json | jq '.[].name'\n"
      "LOSSSCALER_ADDRESS=unix:/run/scaler lossscalerctl health");
  for (const auto add :
       {AddCreate, AddList, AddGet, AddDelete, AddRestore, AddScale, AddUpdate,
        AddUnscale, AddWorkers, AddJoin, AddLeave, AddVote, AddWatch,
        AddDecisions, AddHealth, AddInfo, AddMakeToken}) {
    commands.push_back(add(&app));
  }
}

// The command that was named, as far as the line was read.
std::string CommandOf(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? "" : parsed.front()->get_name();
}

std::string WhatIsWrong(const CLI::App& app, const CLI::ParseError& error) {
  if (CommandOf(app) == "scale") {
    for (const std::string& extra : app.remaining(/*recurse=*/true)) {
      if (!ParseValue<double>(extra).ok()) continue;
      return absl::StrCat(Quoted(extra),
                          " looks like an option; write -- before the losses");
    }
  }
  if (!CommandOf(app).empty()) return error.what();
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty()) {
    return absl::StrCat("there is no command or option ",
                        Quoted(extras.front()));
  }
  if (error.get_name() == "RequiredError") return "no command is given";
  return error.what();
}

// Whether `line` asks for JSON. One that could not be read to its end may do so
// in what was not read.
Format FormatOf(const CommandLine& line, int argc, const char* const* argv) {
  const CLI::Option* const option = line.app.get_option("--json");
  if (option->count() > 0) {
    try {
      return option->as<bool>() ? Format::kJson : Format::kText;
    } catch (const CLI::Error&) {  // --json=perhaps.
      return Format::kJson;
    }
  }
  // What follows -- are names and numbers.
  const std::string_view dashes = "--";
  const auto end = std::find(argv, argv + argc, dashes);
  const std::string_view json = "--json";
  return std::find(argv, end, json) == end ? Format::kText : Format::kJson;
}

int RunCommand(const CommandLine& line, const Environment& environment) {
  Invocation invocation = {.environment = environment,
                           .format = line.json ? Format::kJson : Format::kText,
                           .command = CommandOf(line.app),
                           .options = {}};
  const auto command = std::find_if(
      line.commands.begin(), line.commands.end(),
      [](const Command& candidate) { return candidate.app->parsed(); });
  if (command->calls) {
    absl::StatusOr<ClientOptions> options = MakeClientOptions(line.connection);
    if (!options.ok()) return invocation.Fail(options.status());
    invocation.options = *std::move(options);
  }
  return command->run(invocation);
}

int ParseAndRun(CommandLine& line, int argc, const char* const* argv,
                const Environment& environment) {
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    environment.out << line.app.help();
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    environment.out << version.what() << "\n";
    return kDone;
  } catch (const CLI::ParseError& error) {
    return WrongUsage(environment, FormatOf(line, argc, argv),
                      CommandOf(line.app), WhatIsWrong(line.app, error));
  }
  return RunCommand(line, environment);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv,
                   const Environment& environment) {
  CommandLine line;
  const int code = ParseAndRun(line, argc, argv, environment);
  // A result that nobody got must not look like one.
  if (environment.out.flush() || code != kDone) return code;
  // `list | head -1` has what it wanted.
  if (environment.out_is_abandoned()) return kRefused;
  return Fail(environment, FormatOf(line, argc, argv),
              absl::DataLossError(
                  "the result could not be written to standard output"));
}

}  // namespace lossscaler::ctl
