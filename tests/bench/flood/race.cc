// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/flood/race.h"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/process/programs.h"
#include "bench/process/transport.h"
#include "bench/process/worker_process.h"
#include "bench/report/rounds.h"
#include "bench/report/statistics.h"
#include "testing/temp_directory.h"

namespace lossscaler::bench {
namespace {

using Clock = std::chrono::steady_clock;

absl::StatusOr<std::unique_ptr<WorkerProcess>> StartReady(
    std::vector<std::string> command) {
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker =
      WorkerProcess::Start(std::move(command));
  if (!worker.ok()) return worker;
  if (absl::Status status = (*worker)->Receive().status(); !status.ok()) {
    return status;
  }
  return worker;
}

Latency LatencyOf(const std::vector<std::int64_t>& nanoseconds) {
  const std::vector<double> taken(nanoseconds.begin(), nanoseconds.end());
  return {.p50 = Percentile(taken, 0.5) / 1e3,
          .p99 = Percentile(taken, 0.99) / 1e3};
}

// The server, who is well-behaved, and who is not.
class Scene {
 public:
  static absl::StatusOr<std::unique_ptr<Scene>> Set(
      const RaceOptions& options, const std::string& directory) {
    std::unique_ptr<Scene> scene(new Scene(options));
    // Places for the three sessions there are, and next to none for streams.
    absl::StatusOr<Server> server = StartLossscalerdOn(
        Transport::kTcp, directory, options.lossscalerd, "memory",
        {"--max-sessions=3", "--max-unscale-streams=1"});
    if (!server.ok()) return server.status();
    scene->server_ = *std::move(server);
    if (absl::Status status = scene->Cast(); !status.ok()) return status;
    return scene;
  }

  absl::StatusOr<RoundResult> Run() {
    RoundResult result;
    if (absl::Status status = Measure(&result.quiet_update, &result.quiet_vote);
        !status.ok()) {
      return status;
    }
    for (const auto& flooder : flooders_) {
      if (absl::Status status = Tell(flooder.get(), 1).status(); !status.ok()) {
        return status;
      }
    }
    const Clock::time_point start = Clock::now();
    if (absl::Status status =
            Measure(&result.flooded_update, &result.flooded_vote);
        !status.ok()) {
      return status;
    }
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    for (const auto& [flooder, rate] :
         {std::pair(flooders_[0].get(), &result.refused_per_second),
          std::pair(flooders_[1].get(), &result.answered_per_second)}) {
      const auto answered = Tell(flooder, 0);
      if (!answered.ok()) return answered.status();
      *rate = static_cast<double>(answered->front()) / seconds;
    }
    return result;
  }

 private:
  explicit Scene(const RaceOptions& options) : options_(options) {}

  absl::Status Cast() {
    const std::string& address = server_.addresses.front();
    auto solo =
        StartReady({Beside("../calls/calls_worker"), "update", address, "1"});
    if (!solo.ok()) return solo.status();
    solo_ = *std::move(solo);
    // Each says that it is ready when both have joined.
    for (const char* const rank : {"0", "1"}) {
      auto worker =
          WorkerProcess::Start({Beside("../coordination/coordination_worker"),
                                "library", address, "bench/group", rank, "2"});
      if (!worker.ok()) return worker.status();
      group_.push_back(*std::move(worker));
    }
    for (const auto& worker : group_) {
      if (absl::Status status = worker->Receive().status(); !status.ok()) {
        return status;
      }
    }
    for (const std::vector<std::string>& flood :
         {std::vector<std::string>{"refused", address,
                                   absl::StrCat(options_.connections), "2"},
          std::vector<std::string>{"answered", address, "1",
                                   absl::StrCat(options_.answered_calls)}}) {
      std::vector<std::string> command = {Beside("flood_worker")};
      command.insert(command.end(), flood.begin(), flood.end());
      auto flooder = StartReady(std::move(command));
      if (!flooder.ok()) return flooder.status();
      flooders_.push_back(*std::move(flooder));
    }
    // Connections and caches, which are not counted.
    Latency ignored;
    return Measure(&ignored, &ignored);
  }

  static absl::StatusOr<std::vector<std::int64_t>> Tell(WorkerProcess* worker,
                                                        std::int64_t what) {
    if (absl::Status status = worker->Tell(what); !status.ok()) return status;
    return worker->Receive();
  }

  absl::Status Measure(Latency* update, Latency* vote) {
    auto updates = Tell(solo_.get(), options_.calls);
    if (!updates.ok()) return updates.status();
    // First comes the time of all of them.
    updates->erase(updates->begin());
    *update = LatencyOf(*updates);
    for (const auto& worker : group_) {
      if (absl::Status status = worker->Tell(options_.calls); !status.ok()) {
        return status;
      }
    }
    std::vector<std::int64_t> votes;
    for (const auto& worker : group_) {
      const auto taken = worker->Receive();
      if (!taken.ok()) return taken.status();
      votes.insert(votes.end(), taken->begin(), taken->end());
    }
    *vote = LatencyOf(votes);
    return absl::OkStatus();
  }

  const RaceOptions options_;
  Server server_;
  std::unique_ptr<WorkerProcess> solo_;
  std::vector<std::unique_ptr<WorkerProcess>> group_;
  std::vector<std::unique_ptr<WorkerProcess>> flooders_;
};

}  // namespace

absl::StatusOr<std::vector<RoundResult>> Run(const RaceOptions& options) {
  const testing::TempDirectory directory;
  const absl::StatusOr<std::unique_ptr<Scene>> scene =
      Scene::Set(options, directory.path());
  if (!scene.ok()) return scene.status();
  auto rounds = Interleave(
      options.rounds, std::vector<std::function<absl::StatusOr<RoundResult>()>>{
                          [&] { return (*scene)->Run(); }});
  if (!rounds.ok()) return rounds.status();
  return std::move(rounds->front());
}

}  // namespace lossscaler::bench
