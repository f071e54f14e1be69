// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Trainer: the training loop of one rank, with the group's decisions. What a
// sharded trainer looks like that uses the service.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_TRAINER_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_TRAINER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/worker_session.h"
#include "sharded_trainer/lesson.h"
#include "sharded_trainer/notes.h"
#include "sharded_trainer/peers.h"

namespace lossscaler::sharded {

struct TrainerOptions {
  std::int64_t iterations = 0;
  // This process takes the place of one that has died: it has no shard.
  bool newcomer = false;
  // The iteration before which a checkpoint is saved.
  std::optional<std::int64_t> checkpoint;
  // The iteration in which the process stops itself (SIGSTOP) between reduction
  // and vote, for the launcher to do something to it.
  std::optional<std::int64_t> stop;
};

// Thread safety: one thread at a time.
class Trainer {
 public:
  Trainer(WorkerSession& worker, Peers& peers, const Lesson& lesson,
          const Notes& notes, const TrainerOptions& options);

  absl::Status Run();

 private:
  // Takes part in one step, only to be given its shard.
  absl::Status CatchUp();
  absl::StatusOr<StepResult> TakeStep();
  // After a freeze: the step may apply yet, and its gradients are still here.
  absl::StatusOr<StepResult> RejoinAndWait();
  absl::Status ForwardBackward(WorkerStep& step);
  void Apply(const ApplyPermit& permit);
  absl::Status Note(const Decision& decision);
  absl::Status SaveCheckpoint();
  std::int64_t epoch() const { return worker_.membership().current.epoch; }

  WorkerSession& worker_;
  Peers& peers_;
  const Lesson& lesson_;
  const Notes& notes_;
  const TrainerOptions options_;
  std::int64_t iteration_ = 0;
  // Of all parameters: as this rank found them, then as all ranks did.
  std::vector<Eigen::half> gradients_;
  // Of this rank's shard.
  Eigen::VectorXf unscaled_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_TRAINER_H_
