// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// unscale: what it costs to have gradients unscaled by a server.
// See `./run bench unscale --help`.

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "bench/report/row.h"
#include "bench/report/table.h"
#include "bench/unscale/contestants.h"
#include "bench/unscale/race.h"
#include "bench/unscale/server_memory.h"
#include "lossscaler/core/wire_limits.h"
#include "testing/temp_directory.h"

namespace lossscaler::bench {
namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

struct Options {
  std::string lossscalerd;
  std::vector<std::size_t> chunk_kib = {64, 256, 1024, kMaxPayloadBytes >> 10};
  // With chunks of 1 MiB.
  std::vector<std::size_t> streams = {1, 2, 4};
  int rounds = 7;
  int target_rounds = 21;
  std::size_t mib_per_round = 256;
  std::size_t memory_mib = 4096;
  int memory_rounds = 3;
  std::string json;
};

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void Append(std::vector<Row>* rows, std::vector<Row> more) {
  std::move(more.begin(), more.end(), std::back_inserter(*rows));
}

std::vector<RaceOptions> Races(const Options& options) {
  std::vector<RaceOptions> shapes;
  for (const std::size_t kib : options.chunk_kib) {
    for (const std::size_t streams : options.streams) {
      if (streams > 1 && kib << 10 != kMib) continue;
      RaceOptions shape{.chunk_bytes = kib << 10,
                        .streams = streams,
                        .rounds = options.rounds,
                        .bytes_per_round = options.mib_per_round * kMib};
      if (shape.has_targets()) shape.rounds = options.target_rounds;
      shapes.push_back(shape);
    }
  }
  std::vector<RaceOptions> races;
  for (const bool check_only : {false, true}) {
    for (const Transport transport : kTransports) {
      for (RaceOptions race : shapes) {
        race.check_only = check_only;
        race.transport = transport;
        races.push_back(race);
      }
    }
  }
  return races;
}

absl::Status Run(const Options& options) {
  const testing::TempDirectory directory;
  std::vector<Row> rows;
  {
    absl::StatusOr<Servers> servers =
        Servers::Start(options.lossscalerd, directory.path());
    if (!servers.ok()) return servers.status();
    for (const RaceOptions& options_of_race : Races(options)) {
      const absl::StatusOr<RaceResult> race = Run(options_of_race, *servers);
      if (!race.ok()) return race.status();
      Print(Overview(*race) + "\n");
      Append(&rows, Rows(*race));
    }
  }
  if (options.memory_rounds > 0) {
    absl::StatusOr<std::vector<Row>> memory =
        MeasureServerMemory(options.lossscalerd, directory.path(),
                            options.memory_mib * kMib, options.memory_rounds);
    if (!memory.ok()) return memory.status();
    Append(&rows, *std::move(memory));
  }
  std::vector<Row> targets;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(targets),
               [](const Row& row) { return row.target; });
  Print(TableOf(targets).ToString());
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
      "What it costs to have gradients unscaled by a server: speed of float32 "
      "payload one way and processor time at both ends, by chunk size, number "
      "of streams and transport, beside bare gRPC and beside a service as one "
      "writes it first; and what a stream takes of the server's memory.");
  app.option_defaults()->always_capture_default();
  app.add_option("--server", options.lossscalerd, "The lossscalerd to measure")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--chunks", options.chunk_kib, "Payloads of a message, in KiB")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{4}, lossscaler::kMaxPayloadBytes >> 10));
  app.add_option("--streams", options.streams,
                 "Streams at a time; more than one with chunks of 1 MiB only")
      ->delimiter(',')
      ->check(CLI::Range(1, 16));
  app.add_option("--rounds", options.rounds, "Interleaved rounds")
      ->check(CLI::Range(1, 1000));
  app.add_option("--target-rounds", options.target_rounds,
                 "The same where there are targets: one stream of 1 MiB chunks")
      ->check(CLI::Range(1, 1000));
  app.add_option("--mib", options.mib_per_round,
                 "MiB that one contestant moves in one round, one way")
      ->check(CLI::Range(1, 65536));
  app.add_option("--memory-rounds", options.memory_rounds,
                 "Streams of 4 GiB that the server's memory is measured with; "
                 "0: it is not")
      ->check(CLI::Range(0, 1000));
  app.add_option("--json", options.json, "Write every row to this file");
  app.add_flag("--quick", quick,
               "One round of 8 MiB, chunks of 64 KiB and 1 MiB, one and two "
               "streams, 64 MiB for the server's memory: whether it works, not "
               "how fast");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    options.chunk_kib = {64, 1024};
    options.streams = {1, 2};
    options.rounds = options.target_rounds = options.memory_rounds = 1;
    options.mib_per_round = 8;
    options.memory_mib = 64;
  }
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "unscale: %s\n", status.ToString().c_str());
  return 1;
}
