// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// calls: what a call costs that carries next to nothing.
// See `./run bench calls --help`.

#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "bench/calls/contestants.h"
#include "bench/calls/race.h"
#include "bench/report/row.h"
#include "bench/report/table.h"
#include "testing/temp_directory.h"

namespace lossscaler::bench {
namespace {

constexpr int kManyCallers = 64;

struct Options {
  std::string lossscalerd;
  int rounds = 15;
  std::int64_t single_calls = 1000;
  std::int64_t many_calls = 8000;
  std::string json;
};

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

absl::Status Run(const Options& options) {
  const testing::TempDirectory directory;
  std::vector<Row> rows;
  for (const Transport transport : kTransports) {
    const absl::StatusOr<Contestants> contestants =
        Contestants::Start(transport, options.lossscalerd, directory.path());
    if (!contestants.ok()) return contestants.status();
    for (const int callers : {1, kManyCallers}) {
      const absl::StatusOr<RaceResult> race =
          Run({.transport = transport,
               .callers = callers,
               .rounds = options.rounds,
               .calls_per_round =
                   callers == 1 ? options.single_calls : options.many_calls},
              contestants->all());
      if (!race.ok()) return race.status();
      Print(Overview(*race) + "\n");
      std::vector<Row> found = Rows(*race);
      std::move(found.begin(), found.end(), std::back_inserter(rows));
    }
  }
  Print(TableOf(rows).ToString());
  return WriteRows(rows, options.json);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using lossscaler::bench::Options;
  using lossscaler::bench::Run;
  Options options;
  bool quick = false;
  CLI::App app(
      "What a call costs that carries next to nothing: ScaleLoss, and Update "
      "by durability, beside an empty ping; one caller, and 64 on one "
      "channel, by generated stubs and callbacks.");
  app.option_defaults()->always_capture_default();
  app.add_option("--server", options.lossscalerd, "The lossscalerd to measure")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--rounds", options.rounds, "Interleaved rounds")
      ->check(CLI::Range(1, 1000));
  app.add_option("--single-calls", options.single_calls,
                 "Calls of one caller in one round; a fifth of Update where it "
                 "is written to disk")
      ->check(CLI::Range(5, 1'000'000));
  app.add_option("--many-calls", options.many_calls,
                 "Calls of 64 callers in one round, likewise")
      ->check(CLI::Range(320, 10'000'000));
  app.add_option("--json", options.json, "Write every row to this file");
  app.add_flag("--quick", quick,
               "One round of 320 calls: whether it works, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    options.rounds = 1;
    options.single_calls = options.many_calls = 320;
  }
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "calls: %s\n", status.ToString().c_str());
  return 1;
}
