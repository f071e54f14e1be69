// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/command_line.h"

#include <algorithm>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "ctl/exit_code.h"
#include "lossscaler/core/loss_scaler.h"

namespace lossscaler::ctl {
namespace {

// What `create` is told about the scaler.
struct ScalerFlags {
  bool none = false;
  bool dynamic = false;
  double static_scale = 0;
  DynamicOptions options;
};

void AddScalerFlags(CLI::App* create, ScalerFlags* flags) {
  CLI::Option_group* kind =
      create->add_option_group("kind", "Exactly one of these:");
  kind->add_flag("--none", flags->none, "scale 1, for ever");
  kind->add_option("--static", flags->static_scale, "a constant scale")
      ->type_name("SCALE");
  CLI::Option* dynamic = kind->add_flag(
      "--dynamic", flags->dynamic,
      "a scale that backs off on overflow and grows after clean steps");
  kind->require_option(1);

  create
      ->add_option("--init-scale", flags->options.initial_scale,
                   "initial scale")
      ->capture_default_str()
      ->needs(dynamic);
  create
      ->add_option("--growth-factor", flags->options.growth_factor,
                   "multiplies the scale after growth-interval clean steps")
      ->capture_default_str()
      ->needs(dynamic);
  create
      ->add_option("--backoff-factor", flags->options.backoff_factor,
                   "multiplies the scale on overflow")
      ->capture_default_str()
      ->needs(dynamic);
  create
      ->add_option("--growth-interval", flags->options.growth_interval,
                   "clean steps in a row before the scale grows")
      ->capture_default_str()
      ->needs(dynamic);
}

absl::StatusOr<LossScaler> MakeScaler(const ScalerFlags& flags) {
  if (flags.none) return LossScaler::None();
  if (flags.dynamic) return LossScaler::Dynamic(flags.options);
  return LossScaler::Static(flags.static_scale);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv,
                   const Environment& environment) {
  CLI::App app(
      "Looks after the sessions of a loss scaler service.\n"
      "Exit codes: 0 done; 1 refused by the server, or not serving; 2 wrong "
      "usage; 3 server out of reach.",
      "lossscalerctl");
  ClientOptions options;
  double wait_seconds = 5;
  bool json = false;
  app.add_option("--address", options.address, "host:port or unix:/path")
      ->envname("LOSSSCALER_ADDRESS")
      ->capture_default_str();
  app.add_option("--wait", wait_seconds,
                 "how many seconds to wait for a server that is away")
      ->check(CLI::Range(0.0, 86'400.0))
      ->capture_default_str();
  app.add_flag("--json", json, "print JSON");
  app.require_subcommand(1);
  app.fallthrough();

  std::string name;
  std::string prefix;
  ScalerFlags scaler;
  CLI::App* create = app.add_subcommand("create", "creates a session");
  create->add_option("name", name, "team/project/run")->required();
  AddScalerFlags(create, &scaler);
  CLI::App* get = app.add_subcommand("get", "shows a session");
  get->add_option("name", name, "team/project/run")->required();
  CLI::App* list = app.add_subcommand("list", "lists sessions by name");
  list->add_option("prefix", prefix, "only names that start with this");
  CLI::App* remove =
      app.add_subcommand("delete", "deletes a session and its journal");
  remove->add_option("name", name, "team/project/run")->required();
  CLI::App* health = app.add_subcommand("health", "asks whether it serves");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // 0 for --help.
    return app.exit(error, environment.out, environment.err) == 0 ? kDone
                                                                  : kWrongUsage;
  }

  const Format format = json ? Format::kJson : Format::kText;
  const absl::Duration wait = absl::Seconds(wait_seconds);
  if (health->parsed()) {
    return Health(environment, options.address, wait, format);
  }
  options.unavailable_budget = wait;
  options.unary_deadline =
      std::clamp(wait, absl::Seconds(1), options.unary_deadline);
  const std::shared_ptr<Connection> connection = environment.connect(options);
  const Client client(connection);
  if (create->parsed()) {
    return Create(environment, client, name, MakeScaler(scaler), format);
  }
  if (get->parsed()) return Get(environment, *connection, name, format);
  if (list->parsed()) return List(environment, client, prefix, format);
  return Delete(environment, client, name, format);
}

}  // namespace lossscaler::ctl
