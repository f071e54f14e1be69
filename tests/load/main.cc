// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// server_load: ten thousand sessions and a thousand callers at one server.
// See `./run load --help`.

#include <signal.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/process/cpu_time.h"
#include "bench/process/memory.h"
#include "bench/process/programs.h"
#include "bench/process/transport.h"
#include "bench/report/table.h"
#include "load/crowd.h"
#include "load/file_limit.h"
#include "lossscaler/process/set_up.h"
#include "testing/temp_directory.h"

namespace lossscaler::load {
namespace {

// Connections, the store and what a process has open anyhow.
constexpr std::int64_t kFiles = 256;
// What a server of the default limits may take for this load. Each session
// keeps its last 64 decisions.
constexpr double kMostMemoryKib = 1 << 20;

struct Options {
  std::string lossscalerd;
  absl::Duration duration = absl::Minutes(1);
  std::string durability = "full";
  bench::Transport transport = bench::Transport::kTcp;
};

void Print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string MachineLoad() {
  std::array<double, 1> load{};
  getloadavg(load.data(), 1);
  return bench::Figures(load[0]);
}

std::string Mebibytes(double kib) {
  return absl::StrCat(bench::Figures(kib / 1024), " MiB");
}

void PrintTimes(const Course& course, absl::Duration duration) {
  bench::Table table({"", "count", "per second", "p50 ms", "p99 ms"});
  Histogram all;
  const auto add = [&](std::string_view name, const Histogram& times) {
    table.Add(
        {std::string(name), absl::StrCat(times.count()),
         bench::Figures(static_cast<double>(times.count()) /
                        absl::ToDoubleSeconds(duration)),
         bench::Figures(absl::ToDoubleMilliseconds(times.Percentile(0.5))),
         bench::Figures(absl::ToDoubleMilliseconds(times.Percentile(0.99)))});
  };
  for (const Kind kind : {Kind::kUpdate, Kind::kScaleLoss, Kind::kGet,
                          Kind::kVote, Kind::kUnscale}) {
    const Histogram times = course.times(kind);
    add(KindName(kind), times);
    all.Add(times);
  }
  add("all", all);
  std::fputs(table.ToString().c_str(), stdout);
}

std::string Describe(const CrowdPlan& plan) {
  return absl::StrCat(
      plan.callers(), " callers: ", plan.groups * plan.workers_per_group,
      " workers that vote in ", plan.groups, " groups, a watcher for each, ",
      plan.updaters, " update, ", plan.loss_scalers, " scale losses, ",
      plan.readers, " read sessions, ", plan.unscalers, " unscale");
}

absl::Status PrintErrors(const Course& course) {
  const std::vector<std::string> errors = course.errors();
  for (const std::string& error : errors) Print("FAILED: " + error);
  return errors.empty() ? absl::OkStatus()
                        : absl::InternalError("there were errors");
}

absl::Status Verdict(const Course& course, double peak_kib) {
  if (absl::Status status = PrintErrors(course); !status.ok()) return status;
  if (peak_kib > kMostMemoryKib) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server took ", Mebibytes(peak_kib), ", more than ",
                     Mebibytes(kMostMemoryKib)));
  }
  Print(
      "no error; every session's step count is that of its acknowledged "
      "updates");
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  const absl::StatusOr<std::int64_t> files = AllowFiles(kFiles);
  if (!files.ok()) return files.status();
  const testing::TempDirectory directory;
  const absl::StatusOr<bench::Server> server =
      bench::StartLossscalerdOn(options.transport, directory.path(),
                                options.lossscalerd, options.durability);
  if (!server.ok()) return server.status();
  const pid_t pid = server->process->pid();

  const CrowdPlan plan;
  Crowd crowd(plan, server->addresses.front());
  Print(absl::StrCat("store ", options.durability, ", ",
                     std::string(bench::TransportName(options.transport)), ", ",
                     *files, " files per process, load of the machine ",
                     MachineLoad()));
  absl::Time start = absl::Now();
  crowd.CreateSessions();
  const auto idle = bench::FootprintOf(pid);
  if (!idle.ok()) return idle.status();
  Print(absl::StrCat(plan.sessions, " sessions created in ",
                     bench::Figures(absl::ToDoubleSeconds(absl::Now() - start)),
                     " s; the server takes ", Mebibytes(idle->resident_kib)));
  Print(Describe(plan));

  start = absl::Now();
  const auto cpu_before = bench::CpuNanosecondsOf(pid);
  if (!cpu_before.ok()) return cpu_before.status();
  crowd.CallFor(options.duration);
  const absl::Duration taken = absl::Now() - start;
  const auto cpu = bench::CpuNanosecondsOf(pid);
  const auto busy = bench::FootprintOf(pid);
  if (!cpu.ok() || !busy.ok()) {
    // What callers saw says more than that the server is gone.
    if (absl::Status status = PrintErrors(crowd.course()); !status.ok()) {
      return status;
    }
    return cpu.ok() ? busy.status() : cpu.status();
  }
  PrintTimes(crowd.course(), taken);
  Print(absl::StrCat(
      "the server took ", Mebibytes(busy->resident_kib),
      " (most: ", Mebibytes(busy->peak_resident_kib), "), ",
      bench::Figures(static_cast<double>(*cpu - *cpu_before) / 1e9),
      " s of processors in ", bench::Figures(absl::ToDoubleSeconds(taken)),
      " s; load of the machine ", MachineLoad()));

  crowd.AuditSessions();
  return Verdict(crowd.course(), busy->peak_resident_kib);
}

}  // namespace
}  // namespace lossscaler::load

int main(int argc, char** argv) {
  using lossscaler::bench::Transport;
  lossscaler::load::Options options;
  std::string duration = "1m";
  std::string transport = "tcp";
  CLI::App app(
      "Creates 10,000 sessions at one server and holds 1,000 callers that have "
      "a call under way at any time. Any error, and any session whose steps "
      "are not the acknowledged updates, fails it.");
  app.option_defaults()->always_capture_default();
  app.add_option("--server", options.lossscalerd, "The lossscalerd to load")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--duration", duration, "How long, such as 10s, 1m or 1h");
  app.add_option("--store", options.durability,
                 "memory, or the durability of SQLite")
      ->check(CLI::IsMember({"memory", "relaxed", "full"}));
  app.add_option("--transport", transport)
      ->check(CLI::IsMember({"tcp", "unix"}));
  CLI11_PARSE(app, argc, argv);
  if (!absl::ParseDuration(duration, &options.duration) ||
      options.duration <= absl::ZeroDuration()) {
    std::fprintf(stderr,
                 "'%s' is no duration; expected one such as 10s, 1m or 1h\n",
                 duration.c_str());
    return 2;
  }
  options.transport = transport == "tcp" ? Transport::kTcp : Transport::kUnix;
  lossscaler::SetUpProcess();
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = lossscaler::load::Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "server_load: %s\n", status.ToString().c_str());
  return 1;
}
