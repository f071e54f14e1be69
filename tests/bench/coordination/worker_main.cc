// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// coordination_worker: one worker of one recipe. Started by the driver, see
// bench/process/worker_process.h.
//
// usage: coordination_worker RECIPE ADDRESS SESSION RANK WORKERS

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/coordination/voter.h"
#include "bench/process/worker_process.h"
#include "lossscaler/process/set_up.h"

namespace lossscaler::bench {
namespace {

struct Recipe {
  std::string_view name;
  MakeVoter* make;
};

constexpr Recipe kRecipes[] = {
    {"bare", MakeBareVoter},     {"library", MakeLibraryVoter},
    {"stream", MakeStreamVoter}, {"redis", MakeRedisVoter},
    {"gloo", MakeGlooVoter},
};

MakeVoter* FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name == name) return recipe.make;
  }
  return nullptr;
}

// The nanoseconds that each of `count` votes took.
absl::StatusOr<std::vector<std::int64_t>> TimeVotes(Voter* voter,
                                                    std::int64_t count) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::int64_t> taken;
  taken.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const Clock::time_point start = Clock::now();
    if (absl::Status status = voter->Vote(); !status.ok()) return status;
    taken.push_back(std::chrono::nanoseconds(Clock::now() - start).count());
  }
  return taken;
}

absl::Status Run(MakeVoter* make, const VoterOptions& options) {
  const absl::StatusOr<std::unique_ptr<Voter>> voter = make(options);
  if (!voter.ok()) return voter.status();
  return ServeRounds(
      [&](std::int64_t count) { return TimeVotes(voter->get(), count); });
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using namespace lossscaler::bench;
  MakeVoter* const make = argc == 6 ? FindRecipe(argv[1]) : nullptr;
  if (make == nullptr) {
    std::fputs(
        "usage: coordination_worker RECIPE ADDRESS SESSION RANK WORKERS\n",
        stderr);
    return 2;
  }
  DieWithDriver();
  lossscaler::SetUpProcess();
  const absl::Status status = Run(make, {.address = argv[2],
                                         .session = argv[3],
                                         .rank = std::atoi(argv[4]),
                                         .workers = std::atoi(argv[5])});
  if (status.ok()) return 0;
  std::fprintf(stderr, "coordination_worker %s: %s\n", argv[1],
               status.ToString().c_str());
  return 1;
}
