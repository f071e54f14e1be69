// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a rank writes down for the launcher, and for its own successor. Text
// files in one folder.

#ifndef LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_NOTES_H_
#define LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::sharded {

// A step as a rank saw it.
struct SeenStep {
  std::int64_t step = 0;
  std::int64_t iteration = 0;
  // In the rank's own shard.
  bool overflow = false;
  // Outcome of the step, "APPLY" for example.
  std::string outcome;
  double scale_after = 1.0;

  friend bool operator==(const SeenStep&, const SeenStep&) = default;
};

// What a rank ended with.
struct Finish {
  double loss = 0.0;
  double accuracy = 0.0;
  // Fingerprints.
  std::uint64_t parameters = 0;
  std::uint64_t own = 0;
  std::uint64_t replica = 0;
  // Its registration.
  std::int64_t incarnation = 0;
};

class Notes {
 public:
  Notes(const std::string& folder, int rank);

  // Kept across the rank's processes.
  absl::Status Append(const SeenStep& seen) const;
  absl::StatusOr<std::vector<SeenStep>> Steps() const;

  absl::Status SetFinish(const Finish& finish) const;
  absl::StatusOr<Finish> GetFinish() const;

  // Empty if there is none.
  absl::Status SetResumeToken(const std::string& token) const;
  std::string GetResumeToken() const;

  std::string checkpoint_path() const { return prefix_ + "checkpoint"; }

 private:
  std::string prefix_;
};

}  // namespace lossscaler::sharded

#endif  // LOSSSCALER_CLIENT_EXAMPLES_SHARDED_TRAINER_NOTES_H_
