// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerGroup: the worker processes of one group, all with one recipe.

#ifndef LOSSSCALER_TESTS_BENCH_COORDINATION_WORKER_GROUP_H_
#define LOSSSCALER_TESTS_BENCH_COORDINATION_WORKER_GROUP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/coordination/contestants.h"
#include "bench/process/worker_process.h"

namespace lossscaler::bench {

// What one round of votes came to.
struct RoundResult {
  // From a worker's vote to its decision, over all workers, in microseconds.
  double p50 = 0;
  double p99 = 0;
  double decisions_per_second = 0;
};

class WorkerGroup {
 public:
  // Returns when all workers are ready.
  static absl::StatusOr<WorkerGroup> Start(const Contestant& contestant,
                                           int workers);

  // Every worker votes `steps` times, as fast as it can.
  absl::StatusOr<RoundResult> Run(std::int64_t steps);

  // How many steps take about `seconds`. Warms up what needs it.
  absl::StatusOr<std::int64_t> StepsIn(double seconds);

 private:
  absl::Status AwaitReady();

  std::vector<std::unique_ptr<WorkerProcess>> workers_;
};

}  // namespace lossscaler::bench

#endif  // LOSSSCALER_TESTS_BENCH_COORDINATION_WORKER_GROUP_H_
