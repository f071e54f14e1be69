// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// coordination: what it costs to take one decision for all workers of a step.
// See `./run bench coordination --help`.

#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "bench/coordination/contestants.h"
#include "bench/coordination/race.h"
#include "bench/coordination/waiting_memory.h"
#include "bench/report/row.h"
#include "bench/report/table.h"
#include "testing/temp_directory.h"

namespace lossscaler::bench {
namespace {

struct Options {
  std::string lossscalerd;
  std::vector<int> workers = {2, 4, 8, 16, 32};
  int rounds = 5;
  double seconds = 0.5;
  std::vector<std::string> only;
  int waiting = 1000;
  std::string json;
};

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void Append(std::vector<Row>* rows, std::vector<Row> more) {
  std::move(more.begin(), more.end(), std::back_inserter(*rows));
}

// Every connection of a thousand workers is a descriptor, here and in servers.
void AllowManyFiles() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

void KeepOnly(const std::vector<std::string>& names,
              std::vector<Contestant>* contestants) {
  if (names.empty()) return;
  std::erase_if(*contestants, [&](const Contestant& contestant) {
    return std::find(names.begin(), names.end(), contestant.name) ==
           names.end();
  });
}

absl::Status RunRaces(const Options& options, const std::string& directory,
                      std::vector<Row>* measured, std::vector<Row>* targets) {
  if (options.workers.empty()) return absl::OkStatus();
  absl::StatusOr<Contestants> contestants =
      Contestants::Start(options.lossscalerd, directory);
  if (!contestants.ok()) return contestants.status();
  if (!contestants->has_redis()) {
    Print(
        "REDIS IS NOT MEASURED, and no target that is compared with it: there "
        "is no redis-server.\nInstall Debian's redis-server (it starts a "
        "daemon; this benchmark does not need that one).\n\n");
  }
  for (const int workers : options.workers) {
    absl::StatusOr<std::vector<Contestant>> taking_part =
        contestants->Of(workers);
    if (!taking_part.ok()) return taking_part.status();
    KeepOnly(options.only, &*taking_part);
    const absl::StatusOr<RaceResult> race =
        Run({.workers = workers,
             .rounds = options.rounds,
             .seconds_per_round = options.seconds},
            *taking_part);
    if (!race.ok()) return race.status();
    Print(Overview(*race) + "\n");
    Append(measured, MeasuredRows(*race));
    Append(targets, TargetRows(*race));
  }
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  const testing::TempDirectory directory;
  std::vector<Row> measured;
  std::vector<Row> targets;
  if (absl::Status status =
          RunRaces(options, directory.path(), &measured, &targets);
      !status.ok()) {
    return status;
  }
  if (options.waiting > 0) {
    absl::StatusOr<std::vector<Row>> rows = MeasureWaiting(
        options.lossscalerd, directory.path(), options.waiting, options.rounds);
    if (!rows.ok()) return rows.status();
    Append(&targets, *std::move(rows));
  }
  Print(TableOf(targets).ToString());
  Append(&targets, std::move(measured));
  return WriteRows(targets, options.json);
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using namespace lossscaler::bench;
  Options options;
  bool quick = false;
  CLI::App app(
      "What it costs to take one decision for all workers of a step: latency "
      "from vote to decision for groups of worker processes, beside a bare "
      "vote, Redis and gloo; and what a waiting worker costs the server.");
  app.option_defaults()->always_capture_default();
  app.add_option("--server", options.lossscalerd, "The lossscalerd to measure")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--workers", options.workers,
                 "Sizes of the groups; 0 alone: none")
      ->delimiter(',')
      ->check(CLI::Range(0, 256));
  app.add_option("--rounds", options.rounds, "Interleaved rounds")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds,
                 "How long one round of one contestant takes")
      ->check(CLI::Range(0.01, 60.0));
  app.add_option("--only", options.only,
                 "Contestants that take part, as the tables name them")
      ->delimiter(',');
  app.add_option("--waiting", options.waiting,
                 "Waiting workers whose memory is measured; 0: not measured")
      ->check(CLI::Range(0, 10000));
  app.add_option("--json", options.json, "Write every row to this file");
  app.add_flag("--quick", quick,
               "One short round with 2 and 8 workers and 100 waiting ones: "
               "whether it works, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    options.workers = {2, 8};
    options.rounds = 1;
    options.seconds = 0.05;
    options.waiting = 100;
  }
  std::erase(options.workers, 0);
  signal(SIGPIPE, SIG_IGN);
  AllowManyFiles();
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "coordination: %s\n", status.ToString().c_str());
  return 1;
}
