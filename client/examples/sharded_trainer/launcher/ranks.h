// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Ranks: the four processes of one training run.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_RANKS_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_RANKS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sharded_trainer/launcher/process.h"
#include "sharded_trainer/notes.h"
#include "sharded_trainer/shard.h"

namespace lossscaler::sharded {

// Thread safety: one thread at a time.
class Ranks {
 public:
  // `command` starts a rank, but for --folder and --rank.
  Ranks(std::vector<std::string> command, std::string folder);

  const std::string& folder() const { return folder_; }

  // The rank will stop itself (SIGSTOP) between reduction and vote of that
  // iteration.
  void StopAt(int rank, std::int64_t iteration);

  // `more` goes behind the command.
  absl::Status StartAll(const std::vector<std::string>& more = {});
  absl::Status Start(int rank);

  void Kill(int rank);
  void KillAll();
  void Continue(int rank);

  // Blocks until the rank has stopped itself.
  absl::Status AwaitStop(int rank);
  // Blocks until all have ended well, and says what they have written down.
  absl::StatusOr<std::vector<Finish>> AwaitEnd();

  // What they saw, by rank.
  absl::StatusOr<std::vector<std::vector<SeenStep>>> Seen() const;

 private:
  absl::Status Failure(int rank) const;
  std::string OutputOf(int rank) const;

  std::vector<std::string> command_;
  const std::string folder_;
  std::array<Process, kRanks> processes_;
  std::array<std::optional<std::int64_t>, kRanks> stops_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_LAUNCHER_RANKS_H_
