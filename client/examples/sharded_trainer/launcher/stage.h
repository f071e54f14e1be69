// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Stage: where the demonstration takes place, and its three acts.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_STAGE_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_STAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "sharded_trainer/launcher/claims.h"
#include "sharded_trainer/launcher/ranks.h"
#include "sharded_trainer/launcher/server.h"

namespace lossscaler::sharded {

struct StageOptions {
  std::string lossscalerd;
  // Where sharded_worker is.
  std::string worker;
  // For everything that is written.
  std::string folder;
  std::int64_t iterations = 0;
  std::uint64_t seed = 1;
};

class Stage {
 public:
  explicit Stage(const StageOptions& options);

  // Starts the server.
  absl::Status Open();

  // A run of this name: its session, and its folder.
  absl::StatusOr<Ranks> MakeRun(const std::string& name) const;

  // Claims that the log of a run has no conflict; the log.
  absl::StatusOr<std::vector<Decision>> CheckLog(const std::string& name,
                                                 const Ranks& run);
  // Claims that all ranks ended with the same parameters, and each replica as
  // its shard.
  void CheckFinish(const std::vector<Finish>& finishes);

  std::int64_t iterations() const { return options_.iterations; }
  Connection& connection() { return *connection_; }

  Server server;
  Claims claims;

 private:
  const StageOptions options_;
  std::shared_ptr<Connection> connection_;
};

// The service, beside every rank on its own.
absl::Status SideBySide(Stage& stage);
// Killed, frozen, killed.
absl::Status Chaos(Stage& stage);
// All killed, and back from a checkpoint.
absl::Status Restart(Stage& stage);

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_STAGE_H_
