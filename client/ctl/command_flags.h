// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A command: its flags, and what it does with them.
//
// Thread safety: as an int.

#ifndef LOSSSCALER_CTL_COMMAND_FLAGS_H_
#define LOSSSCALER_CTL_COMMAND_FLAGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "ctl/environment.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/options.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::ctl {

// One use of a command, after the flags of every command have been read.
struct Invocation {
  const Environment& environment;
  Format format;
  std::string command;
  ClientOptions options;

  std::shared_ptr<Connection> Connect() const;
  // Writes `error` and returns an ExitCode; one without a reason is about the
  // command line.
  int Fail(const absl::Status& error) const;
};

struct Command {
  // Its place in the command line. The description has the form of a commit
  // message, a line of summary before the rest; the footer is examples.
  CLI::App* app;
  std::function<int(const Invocation&)> run;
  // Whether it calls a server; otherwise nothing is made of the connection's
  // flags and variables.
  bool calls = true;
};

// Each adds one command to `app`.
Command AddCreate(CLI::App* app);
Command AddGet(CLI::App* app);
Command AddList(CLI::App* app);
Command AddDelete(CLI::App* app);
Command AddRestore(CLI::App* app);
Command AddScale(CLI::App* app);
Command AddUpdate(CLI::App* app);
Command AddUnscale(CLI::App* app);
Command AddHealth(CLI::App* app);
Command AddInfo(CLI::App* app);
Command AddWorkers(CLI::App* app);
Command AddJoin(CLI::App* app);
Command AddLeave(CLI::App* app);
Command AddVote(CLI::App* app);
Command AddWatch(CLI::App* app);
Command AddDecisions(CLI::App* app);
Command AddMakeToken(CLI::App* app);

// What several commands have: the argument NAME, --step, one of four verdicts,
// and what a vote stands on.
void AddSessionName(CLI::App* command, std::string* name);
void AddStep(CLI::App* command, std::optional<std::int64_t>* step);
void AddVerdict(CLI::App* command, Verdict* verdict);
void AddGrounds(CLI::App* command, std::optional<std::int64_t>* base,
                std::optional<double>* scale_used,
                std::optional<std::int64_t>* iteration);

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_COMMAND_FLAGS_H_
