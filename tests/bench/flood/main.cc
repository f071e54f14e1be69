// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// flood: what well-behaved clients wait for while others flood their server.
// See `./run bench flood --help`.

#include <signal.h>

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "bench/flood/race.h"
#include "bench/report/row.h"
#include "bench/report/table.h"

namespace lossscaler::bench {
namespace {

absl::Status RunAndWrite(const RaceOptions& options, const std::string& json) {
  const absl::StatusOr<std::vector<RoundResult>> rounds = Run(options);
  if (!rounds.ok()) return rounds.status();
  const std::vector<Row> rows = Rows(*rounds);
  std::fputs((Overview(*rounds) + "\n" + TableOf(rows).ToString()).c_str(),
             stdout);
  return WriteRows(rows, json);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  lossscaler::bench::RaceOptions options;
  std::string json;
  bool quick = false;
  CLI::App app(
      "How long an Update, and a vote of a group of two to its decision, take "
      "while other clients flood the server: on many connections with calls "
      "that are refused, and from another process with calls that are "
      "answered; beside the same while nobody else calls.");
  app.option_defaults()->always_capture_default();
  app.add_option("--server", options.lossscalerd, "The lossscalerd to measure")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--rounds", options.rounds, "Interleaved rounds")
      ->check(CLI::Range(1, 1000));
  app.add_option("--calls", options.calls,
                 "Updates, and votes of each worker, in one round, quiet and "
                 "again under flood")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--connections", options.connections,
                 "Connections with two calls each that are refused")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--answered", options.answered_calls,
                 "Calls under way that are answered")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--json", json, "Write every row to this file");
  app.add_flag("--quick", quick,
               "One round of 20 calls: whether it works, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    options.rounds = 1;
    options.calls = 20;
  }
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = lossscaler::bench::RunAndWrite(options, json);
  if (status.ok()) return 0;
  std::fprintf(stderr, "flood: %s\n", status.ToString().c_str());
  return 1;
}
