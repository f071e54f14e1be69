// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// calls_worker: callers of one kind, all on one channel. Started by the driver,
// see bench/process/worker_process.h; asked for a number of calls, it answers
// the nanoseconds from the first to the last, then those of each.
//
// usage: calls_worker ping|scale-loss|update ADDRESS CALLERS

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/calls/caller.h"
#include "bench/process/worker_process.h"
#include "bench/rpc/settings.h"
#include "lossscaler/process/set_up.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Callers = std::vector<std::unique_ptr<Caller>>;

struct Recipe {
  std::string_view name;
  MakeCaller* make;
};

constexpr Recipe kRecipes[] = {{"ping", MakePingCaller},
                               {"scale-loss", MakeScaleLossCaller},
                               {"update", MakeUpdateCaller}};

MakeCaller* FindRecipe(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name == name) return recipe.make;
  }
  return nullptr;
}

std::int64_t NanosecondsSince(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

// Has every caller call again as soon as it is answered, until `count` calls
// are made.
class Burst {
 public:
  Burst(const Callers& callers, std::int64_t count)
      : callers_(callers), to_start_(count), taken_{0} {
    taken_.reserve(static_cast<std::size_t>(count) + 1);
  }

  absl::StatusOr<std::vector<std::int64_t>> Run() {
    const Clock::time_point start = Clock::now();
    for (const std::unique_ptr<Caller>& caller : callers_) Next(caller.get());
    MutexLock lock(&mutex_);
    while (under_way_ > 0) ended_.Wait(&mutex_);
    if (!status_.ok()) return status_;
    taken_.front() = NanosecondsSince(start);
    return taken_;
  }

 private:
  void Next(Caller* caller) {
    {
      MutexLock lock(&mutex_);
      if (to_start_ == 0 || !status_.ok()) return;
      --to_start_;
      ++under_way_;
    }
    caller->Call([this, caller, start = Clock::now()](absl::Status status) {
      const std::int64_t taken = NanosecondsSince(start);
      {
        MutexLock lock(&mutex_);
        taken_.push_back(taken);
        if (!status.ok()) status_ = std::move(status);
      }
      Next(caller);
      MutexLock lock(&mutex_);
      if (--under_way_ == 0) ended_.SignalAll();
    });
  }

  const Callers& callers_;
  Mutex mutex_;
  CondVar ended_;
  std::int64_t to_start_ ABSL_GUARDED_BY(mutex_);
  std::int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::int64_t> taken_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status Run(MakeCaller* make, const std::string& address, int count) {
  const std::shared_ptr<grpc::Channel> channel = TunedChannel(address);
  Callers callers;
  for (int i = 0; i < count; ++i) {
    // Unlike those of every other worker of the run.
    absl::StatusOr<std::unique_ptr<Caller>> caller =
        make(channel, absl::StrCat("bench/", getpid(), "/", i));
    if (!caller.ok()) return caller.status();
    callers.push_back(*std::move(caller));
  }
  return ServeRounds(
      [&](std::int64_t calls) { return Burst(callers, calls).Run(); });
}

}  // namespace
}  // namespace lossscaler::bench

int main(int argc, char** argv) {
  using lossscaler::bench::DieWithDriver;
  using lossscaler::bench::FindRecipe;
  using lossscaler::bench::MakeCaller;
  using lossscaler::bench::Run;
  MakeCaller* const make = argc == 4 ? FindRecipe(argv[1]) : nullptr;
  if (make == nullptr) {
    std::fputs("usage: calls_worker ping|scale-loss|update ADDRESS CALLERS\n",
               stderr);
    return 2;
  }
  lossscaler::SetUpProcess();
  DieWithDriver();
  const absl::Status status = Run(make, argv[2], std::atoi(argv[3]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "calls_worker %s: %s\n", argv[1],
               status.ToString().c_str());
  return 1;
}
