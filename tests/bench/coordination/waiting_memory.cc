// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/coordination/waiting_memory.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/process/memory.h"
#include "bench/process/programs.h"
#include "bench/process/worker_process.h"
#include "bench/report/rounds.h"

namespace lossscaler::bench {
namespace {

// Above an empty stream on a connection of its own.
constexpr double kMostKib = 16;
// What gRPC needs for itself, and then some: far from one for each worker.
constexpr double kMostThreads = 0.05;

// What `clients` make of `server`, for each of `count` of them.
absl::StatusOr<Footprint> Growth(const Server& server,
                                 const std::string& clients, int count) {
  const absl::StatusOr<std::unique_ptr<WorkerProcess>> process =
      WorkerProcess::Start(
          {Beside("waiting_workers"), clients, server.addresses.front()});
  if (!process.ok()) return process.status();
  // A few are there already, so that what the first one needs is not counted.
  if (absl::Status status = (*process)->Receive().status(); !status.ok()) {
    return status;
  }
  const absl::StatusOr<Footprint> before = FootprintOf(server.process->pid());
  if (!before.ok()) return before.status();
  if (absl::Status status = (*process)->Tell(count); !status.ok()) {
    return status;
  }
  if (absl::Status status = (*process)->Receive().status(); !status.ok()) {
    return status;
  }
  const absl::StatusOr<Footprint> after = FootprintOf(server.process->pid());
  if (!after.ok()) return after.status();
  return Footprint{
      .resident_kib = (after->resident_kib - before->resident_kib) / count,
      .threads = (after->threads - before->threads) / count};
}

absl::StatusOr<Footprint> MeasureIn(const std::string& folder,
                                    const std::string& clients, int count,
                                    std::vector<std::string> command) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const absl::StatusOr<Server> server =
      StartServer(folder, std::move(command), folder + "/ready");
  if (!server.ok()) return server.status();
  return Growth(*server, clients, count);
}

std::vector<double> Figures(const std::vector<Footprint>& footprints,
                            double Footprint::*figure) {
  std::vector<double> figures;
  for (const Footprint& footprint : footprints) {
    figures.push_back(footprint.*figure);
  }
  return figures;
}

}  // namespace

absl::StatusOr<std::vector<Row>> MeasureWaiting(const std::string& lossscalerd,
                                                const std::string& directory,
                                                int workers, int rounds) {
  const std::string folder = directory + "/waiting";
  const std::string address = absl::StrCat("unix:", folder, "/socket");
  const std::string ready = folder + "/ready";
  const std::vector<std::function<absl::StatusOr<Footprint>()>> contestants = {
      [&] {
        return MeasureIn(folder, "workers", workers,
                         {lossscalerd, "--listen", address, "--ready-file",
                          ready, "--admin-listen=", "--store", "memory"});
      },
      [&] {
        return MeasureIn(folder, "streams", workers,
                         {Beside("held_stream_server"), address, ready});
      },
  };
  const absl::StatusOr<std::vector<std::vector<Footprint>>> measured =
      Interleave(rounds, contestants);
  if (!measured.ok()) return measured.status();
  const std::vector<double> ours =
      Figures((*measured)[0], &Footprint::resident_kib);
  const std::vector<double> floors =
      Figures((*measured)[1], &Footprint::resident_kib);
  std::vector<double> above;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    above.push_back(ours[i] - floors[i]);
  }
  const std::string name = absl::StrCat("coordination/waiting", workers);
  return std::vector<Row>{
      ComparedRow(name + "/memory", "KiB", ours, floors),
      AbsoluteRow(name + "/memory/above-stream", "KiB", above, kMostKib),
      AbsoluteRow(name + "/threads", "",
                  Figures((*measured)[0], &Footprint::threads), kMostThreads)};
}

}  // namespace lossscaler::bench
