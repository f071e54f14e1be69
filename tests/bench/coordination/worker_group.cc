// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/coordination/worker_group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/report/statistics.h"

namespace lossscaler::bench {
namespace {

// Enough for a median, whatever a vote takes.
constexpr std::int64_t kFewestSteps = 20;
// Of each round, not counted: the workers wake up one after the other.
constexpr std::int64_t kRampSteps = 3;
constexpr std::int64_t kWarmUpSteps = 50;

}  // namespace

absl::StatusOr<WorkerGroup> WorkerGroup::Start(const Contestant& contestant,
                                               int workers) {
  const std::string session =
      absl::StrCat("bench/", workers, "/", contestant.name);
  WorkerGroup group;
  for (int rank = 0; rank < workers; ++rank) {
    absl::StatusOr<std::unique_ptr<WorkerProcess>> worker =
        WorkerProcess::Start({Beside("coordination_worker"), contestant.recipe,
                              contestant.address, session, absl::StrCat(rank),
                              absl::StrCat(workers)});
    if (!worker.ok()) return worker.status();
    group.workers_.push_back(*std::move(worker));
  }
  if (absl::Status status = group.AwaitReady(); !status.ok()) return status;
  return group;
}

absl::Status WorkerGroup::AwaitReady() {
  for (const auto& worker : workers_) {
    if (absl::Status status = worker->Receive().status(); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RoundResult> WorkerGroup::Run(std::int64_t steps) {
  for (const auto& worker : workers_) {
    if (absl::Status status = worker->Tell(kRampSteps + steps); !status.ok()) {
      return status;
    }
  }
  std::vector<double> taken;
  double longest = 0;
  for (const auto& worker : workers_) {
    const absl::StatusOr<std::vector<std::int64_t>> nanoseconds =
        worker->Receive();
    if (!nanoseconds.ok()) return nanoseconds.status();
    double sum = 0;
    for (auto it = nanoseconds->begin() + kRampSteps; it != nanoseconds->end();
         ++it) {
      taken.push_back(static_cast<double>(*it) / 1e3);
      sum += taken.back();
    }
    longest = std::max(longest, sum);
  }
  return RoundResult{
      .p50 = Percentile(taken, 0.5),
      .p99 = Percentile(taken, 0.99),
      .decisions_per_second = static_cast<double>(steps) * 1e6 / longest};
}

absl::StatusOr<std::int64_t> WorkerGroup::StepsIn(double seconds) {
  absl::StatusOr<RoundResult> trial = Run(kFewestSteps);
  if (trial.ok()) trial = Run(kWarmUpSteps);
  if (!trial.ok()) return trial.status();
  const double steps = seconds * trial->decisions_per_second;
  return std::max(kFewestSteps, static_cast<std::int64_t>(steps));
}

}  // namespace lossscaler::bench
