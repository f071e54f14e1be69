// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// group_soak: a job of real processes under Chaos, and the history checker over
// all that they saw.
//
//   group_soak --duration 5m --seed 7
//   group_soak --check DIR --seed 7   the checker again, over what a soak left
//
// Exits with 0 if all is well; otherwise with 1, and its folder stays.

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fault/group/chaos.h"
#include "fault/group/group_job.h"
#include "fault/group/mixed.h"
#include "lossscaler/process/set_up.h"
#include "lossscaler/wire/group_convert.h"

namespace lossscaler::testing {
namespace {

namespace fs = std::filesystem;

// Steps that must be applied once it is quiet.
constexpr std::int64_t kRecoverySteps = 20;

volatile int stop = 0;

// How the group behaves is a matter of the seed too.
GroupConfig ConfigOf(int workers, std::uint64_t seed) {
  auto draw = [seed, number = 0](int choices) mutable {
    return static_cast<int>(Mixed(seed, static_cast<std::uint64_t>(++number)) %
                            static_cast<std::uint64_t>(choices));
  };
  GroupConfig config;
  config.max_workers = workers;
  config.min_workers = std::max(1, workers - draw(2));
  config.lease_ttl = kMinLeaseTtl;
  config.step_timeout = absl::Seconds(2 + 6 * draw(3));
  config.on_loss = static_cast<LossPolicy>(draw(3));
  config.on_timeout = static_cast<StragglerPolicy>(draw(4));
  config.early_decision = draw(2) == 0;
  return config;
}

std::string DebugString(const GroupConfig& config) {
  v1::GroupConfig proto;
  wire::ToProto(config, &proto);
  return proto.ShortDebugString();
}

GroupJobOptions SoakOptions(int workers, std::uint64_t seed) {
  GroupJobOptions options;
  options.config = ConfigOf(workers, seed);
  options.scaler = *LossScaler::Dynamic(1024, 2, 20);
  options.worker_flags = {"--seed",
                          std::to_string(seed),
                          "--compute-ms",
                          "20",
                          "--unclean-permille",
                          "20",
                          "--checkpoint-every",
                          "25"};
  return options;
}

std::string FlagsOf(std::uint64_t seed, int workers) {
  return " --seed " + std::to_string(seed) + " --workers " +
         std::to_string(workers);
}

std::string NewDirectory() {
  std::string pattern = fs::temp_directory_path() / "lossscaler-soak.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  return pattern;
}

void PrintSummary(GroupJob* job, const std::map<std::string, int>& events) {
  for (const auto& [event, count] : events) {
    std::cout << "  " << count << " x " << event << "\n";
  }
  const absl::StatusOr<std::vector<v1::Decision>> journal = job->Journal();
  if (!journal.ok()) return;
  std::map<std::string, int> outcomes;
  for (const v1::Decision& decision : *journal) {
    ++outcomes[v1::Outcome_Name(decision.outcome()).substr(8) + " (" +
               v1::DecisionReason_Name(decision.reason()).substr(16) + ")"];
  }
  std::cout << journal->size() << " decisions:\n";
  for (const auto& [outcome, count] : outcomes) {
    std::cout << "  " << count << " x " << outcome << "\n";
  }
}

int Report(const std::string& directory,
           const std::vector<std::string>& failures,
           const std::string& reproduce) {
  if (failures.empty()) {
    std::cout << "all is well: nothing that anybody saw contradicts a rule\n";
    return 0;
  }
  for (const std::string& failure : failures) {
    std::cout << "FAILED: " << failure << "\n";
  }
  std::cout << failures.size() << " failures; histories, logs and state are in "
            << directory << "\n"
            << "the same schedule again: " << reproduce << "\n";
  return 1;
}

int Soak(absl::Duration duration, std::uint64_t seed, int workers) {
  const std::string flags = FlagsOf(seed, workers);
  const std::string directory = NewDirectory();
  std::cout << "seed " << seed << ", " << workers << " workers, "
            << absl::FormatDuration(duration) << ", in " << directory << "\n"
            << "group: " << DebugString(ConfigOf(workers, seed)) << std::endl;
  std::vector<std::string> failures;
  {
    std::ofstream log(directory + "/chaos.log");
    log << std::unitbuf;
    GroupJob job(directory, SoakOptions(workers, seed));
    if (!job.StartServer() || !job.Create().ok()) {
      std::cout << "the server does not start: " << job.server().Err() << "\n";
      return 1;
    }
    job.StartAttempt();
    Chaos chaos(&job, seed, &log);
    chaos.Run(duration, stop);
    chaos.AwaitRecovery(kRecoverySteps);
    job.KillWorkers();
    failures = chaos.failures();
    for (std::string& violation : job.Check()) {
      failures.push_back(std::move(violation));
    }
    PrintSummary(&job, chaos.events());
  }
  const int exit = Report(directory, failures,
                          "./run soak " + absl::FormatDuration(duration) +
                              " --seed " + std::to_string(seed) +
                              " --workers " + std::to_string(workers));
  if (exit == 0) fs::remove_all(directory);
  return exit;
}

int CheckAgain(const std::string& directory, std::uint64_t seed, int workers) {
  GroupJob job(directory, SoakOptions(workers, seed));
  if (!job.StartServer()) {
    std::cout << "the server does not start: " << job.server().Err() << "\n";
    return 1;
  }
  return Report(directory, job.Check(), "./run soak" + FlagsOf(seed, workers));
}

}  // namespace
}  // namespace lossscaler::testing

int main(int argc, char** argv) {
  lossscaler::SetUpProcess();
  for (const int end : {SIGINT, SIGTERM}) {
    signal(end, [](int) { lossscaler::testing::stop = 1; });
  }
  std::string duration_text = "5m";
  std::uint64_t seed = std::random_device()();
  int workers = 4;
  std::string directory;
  CLI::App app("A group session of real processes, disturbed at random.");
  app.add_option("--duration", duration_text, "such as 30s, 5m or 8h");
  app.add_option("--seed", seed, "of what is done to it");
  app.add_option("--workers", workers)->check(CLI::Range(1, 64));
  app.add_option("--check", directory, "check what a soak has left in DIR")
      ->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  absl::Duration duration;
  if (!absl::ParseDuration(duration_text, &duration) ||
      duration <= absl::ZeroDuration()) {
    std::cerr << "'" << duration_text
              << "' is no duration; expected one such as 30s, 5m or 8h\n";
    return 2;
  }
  return directory.empty()
             ? lossscaler::testing::Soak(duration, seed, workers)
             : lossscaler::testing::CheckAgain(directory, seed, workers);
}
