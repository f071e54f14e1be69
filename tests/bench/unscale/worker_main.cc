// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// unscale_worker: the client of one contestant. Started by the driver, see
// bench/process/worker_process.h; asked for a number of bytes, it moves as many
// through each of its streams at once, and answers the nanoseconds it took.
//
// usage: unscale_worker RECIPE return|check ADDRESS CHUNK_BYTES STREAMS BYTES
//
// BYTES: the most that it will be asked for.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/process/worker_process.h"
#include "bench/rpc/settings.h"
#include "bench/unscale/long_tensor.h"
#include "bench/unscale/mover.h"
#include "lossscaler/process/set_up.h"

namespace lossscaler::bench {
namespace {

struct Recipe {
  std::string_view name;
  MakeMover* make;
  // The ordinary user's client keeps glibc's defaults.
  bool tuned = true;
};

constexpr Recipe kRecipes[] = {
    {"library", MakeLibraryMover},    {"echo", MakeEchoMover},
    {"echo-kept", MakeKeptEchoMover}, {"sink", MakeSinkMover},
    {"plain", MakePlainMover, false},
};

const Recipe* FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

using Tensors = std::vector<std::unique_ptr<LongTensor>>;

// Every stream on a thread of its own, as trainers have it.
absl::StatusOr<std::int64_t> TimeMoves(Mover* mover, const Tensors& tensors,
                                       std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  std::vector<absl::Status> results(tensors.size());
  const auto move = [&](std::size_t stream) {
    results[stream] = mover->Move(
        stream, tensors[stream]->values().first(bytes / sizeof(float)));
  };
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < tensors.size(); ++i) others.emplace_back(move, i);
  move(0);
  for (std::thread& other : others) other.join();
  const Clock::duration taken = Clock::now() - start;
  for (const absl::Status& result : results) {
    if (!result.ok()) return result;
  }
  return std::chrono::nanoseconds(taken).count();
}

absl::Status Run(MakeMover* make, const MoverOptions& options,
                 std::size_t bytes) {
  Tensors tensors;
  for (std::size_t i = 0; i < options.streams; ++i) {
    absl::StatusOr<std::unique_ptr<LongTensor>> tensor =
        LongTensor::Make(bytes);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  const absl::StatusOr<std::unique_ptr<Mover>> mover = make(options);
  if (!mover.ok()) return mover.status();
  return ServeRounds(
      [&](std::int64_t count) -> absl::StatusOr<std::vector<std::int64_t>> {
        const absl::StatusOr<std::int64_t> taken =
            TimeMoves(mover->get(), tensors, static_cast<std::size_t>(count));
        if (!taken.ok()) return taken.status();
        return std::vector<std::int64_t>{*taken};
      });
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using lossscaler::bench::DieWithDriver;
  using lossscaler::bench::FindRecipe;
  using lossscaler::bench::Recipe;
  using lossscaler::bench::Run;
  const Recipe* const recipe = argc == 7 ? FindRecipe(argv[1]) : nullptr;
  if (recipe == nullptr) {
    std::fputs(
        "usage: unscale_worker RECIPE return|check ADDRESS CHUNK_BYTES STREAMS "
        "BYTES\n",
        stderr);
    return 2;
  }
  if (recipe->tuned) lossscaler::SetUpProcess();
  DieWithDriver();
  const absl::Status status =
      Run(recipe->make,
          {.address = argv[3],
           .chunk_bytes = std::strtoull(argv[4], nullptr, 10),
           .streams = std::strtoull(argv[5], nullptr, 10),
           .check_only = std::string_view(argv[2]) == "check"},
          std::strtoull(argv[6], nullptr, 10));
  if (status.ok()) return 0;
  std::fprintf(stderr, "unscale_worker %s: %s\n", argv[1],
               status.ToString().c_str());
  return 1;
}
