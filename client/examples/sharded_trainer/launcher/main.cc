// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Starts a server and four ranks, does to them what is asked for, and checks
// what comes of it.

#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "sharded_trainer/launcher/stage.h"

namespace lossscaler::sharded {
namespace {

absl::Status Main(const StageOptions& options, bool chaos, bool restart) {
  Stage stage(options);
  absl::Status status = stage.Open();
  if (!status.ok()) return status;
  status = chaos ? Chaos(stage) : restart ? Restart(stage) : SideBySide(stage);
  if (!status.ok()) return status;
  status = stage.server.Stop();
  if (status.ok() && !stage.claims.all_hold()) {
    return absl::InternalError("not everything holds that should");
  }
  return status;
}

}  // namespace
}  // namespace lossscaler::sharded

int main(int argc, char** argv) {
  lossscaler::sharded::StageOptions options;
  bool chaos = false;
  bool restart = false;
  CLI::App app("Trains one network with four processes and the service.");
  app.add_option("--lossscalerd", options.lossscalerd, "The server")
      ->required();
  app.add_option("--worker", options.worker, "The program of a rank")
      ->required();
  app.add_option("--folder", options.folder, "For everything that is written")
      ->required();
  app.add_option("--iterations", options.iterations)
      ->check(CLI::Range(60, 100000))
      ->default_val(240);
  app.add_option("--seed", options.seed)->capture_default_str();
  auto* const with_chaos =
      app.add_flag("--chaos", chaos, "Kill a rank and the server, freeze one");
  app.add_flag("--restart", restart, "Kill all ranks, and start them again")
      ->excludes(with_chaos);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::Status status =
      lossscaler::sharded::Main(options, chaos, restart);
  if (!status.ok()) {
    std::cerr << "demo: " << status.message() << std::endl;
    return 1;
  }
  return 0;
}
