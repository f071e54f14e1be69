// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/unscale/server_memory.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/process/memory.h"
#include "bench/process/transport.h"
#include "bench/process/worker_process.h"
#include "bench/unscale/contestants.h"

namespace lossscaler::bench {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr double kMostMib = 64;

// In MiB.
absl::StatusOr<double> PeakOverIdle(const Server& server, std::size_t bytes) {
  const absl::StatusOr<Footprint> idle = FootprintOf(server.process->pid());
  if (!idle.ok()) return idle.status();
  const absl::StatusOr<std::unique_ptr<WorkerProcess>> client =
      WorkerProcess::Start({Beside("unscale_worker"), std::string(kLibrary),
                            "return", server.addresses.front(),
                            absl::StrCat(kChunkBytes), "1",
                            absl::StrCat(bytes)});
  if (!client.ok()) return client.status();
  if (absl::Status status = (*client)->Receive().status(); !status.ok()) {
    return status;
  }
  if (absl::Status status = (*client)->Tell(static_cast<std::int64_t>(bytes));
      !status.ok()) {
    return status;
  }
  if (absl::Status status = (*client)->Receive().status(); !status.ok()) {
    return status;
  }
  const absl::StatusOr<Footprint> after = FootprintOf(server.process->pid());
  if (!after.ok()) return after.status();
  return (after->peak_resident_kib - idle->resident_kib) / 1024;
}

}  // namespace

absl::StatusOr<std::vector<Row>> MeasureServerMemory(
    const std::string& lossscalerd, const std::string& directory,
    std::size_t bytes, int rounds) {
  std::vector<Row> rows;
  for (const Transport transport : kTransports) {
    std::vector<double> peaks;
    for (int round = 0; round < rounds; ++round) {
      const absl::StatusOr<Server> server = StartLossscalerdOn(
          transport, directory + "/memory", lossscalerd, "memory");
      if (!server.ok()) return server.status();
      const absl::StatusOr<double> peak = PeakOverIdle(*server, bytes);
      if (!peak.ok()) return peak.status();
      peaks.push_back(*peak);
    }
    // "At most" is meant of each of them.
    const double largest = *std::max_element(peaks.begin(), peaks.end());
    rows.push_back(AbsoluteRow(
        absl::StrCat("unscale/return/", std::string(TransportName(transport)),
                     "/1MiB/x1/server-memory/over-idle"),
        "MiB", {largest}, kMostMib));
  }
  return rows;
}

}  // namespace lossscaler::bench
