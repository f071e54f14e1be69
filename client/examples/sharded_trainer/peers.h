// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Peers: a rank's shard, the replica that it keeps of the next rank's, and the
// other ranks.
//
// A shard and its replica take the same steps at the same decisions, each by
// itself: no message between them can be lost with a process. Who comes without
// a shard gets it from the rank before it, which keeps its replica, and its
// replica from the rank after it, which owns what is replicated.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_PEERS_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_PEERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sharded_trainer/collective.h"
#include "sharded_trainer/shard.h"

namespace lossscaler::sharded {

// Where a rank stands when it comes to a step.
struct Standing {
  std::int64_t step = 0;
  std::int64_t iteration = 0;
  // The last applied step that its shard contains.
  std::int64_t base = 0;
  // Its shard is what the step builds on.
  bool in_sync = true;
};

struct Meeting {
  // Somebody was given its shard.
  bool handed_over = false;
  // Of those who are in sync.
  Standing standing;
};

// Thread safety: one thread at a time.
class Peers {
 public:
  Peers(CollectiveOptions options, Shard own, Shard replica);

  int rank() const { return options_.rank; }
  // The rank of which this one keeps a replica.
  int next_rank() const { return (rank() + 1) % kRanks; }

  // Connects the ranks if `epoch` says something new, waits until all have come
  // to the same step, hands shards over, and gathers all parameters.
  //
  // ABORTED: the others are at a later step. UNAVAILABLE: somebody died.
  // FAILED_PRECONDITION: this cannot be repaired.
  absl::StatusOr<Meeting> Meet(const Standing& mine,
                               const std::function<std::int64_t()>& epoch);

  // Once more, after the last step.
  absl::Status GatherParameters();
  // As of when they were gathered last.
  const Eigen::VectorXf& parameters() const { return parameters_; }

  absl::Status AllReduce(std::span<Eigen::half> gradients);

  Shard own;
  Shard replica;

 private:
  absl::Status Connect(const std::function<std::int64_t()>& epoch);
  absl::StatusOr<Meeting> MeetConnected(const Standing& mine);
  absl::Status HandOver(int to, std::span<const Standing> all);
  absl::Status Send(int to, Shard& shard);
  absl::Status Receive(int from, Shard& shard);

  const CollectiveOptions options_;
  std::optional<Collective> collective_;
  // Under which the ranks have been connected, or have tried to.
  std::optional<std::int64_t> epoch_;
  Eigen::VectorXf parameters_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_PEERS_H_
