// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/launcher/stage.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/client/options.h"
#include "sharded_trainer/configuration.h"
#include "sharded_trainer/launcher/decision_log.h"

namespace lossscaler::sharded {
namespace {

std::string SessionOf(const std::string& run) {
  return absl::StrCat("examples/sharded-trainer/", run);
}

}  // namespace

Stage::Stage(const StageOptions& options)
    : server(options.lossscalerd, options.folder), options_(options) {}

absl::Status Stage::Open() {
  absl::Status status = server.Start();
  if (!status.ok()) return status;
  connection_ = MakeConnection(
      {.address = server.address(), .unavailable_budget = absl::Seconds(30)});
  return absl::OkStatus();
}

absl::StatusOr<Ranks> Stage::MakeRun(const std::string& name) const {
  const std::string folder = absl::StrCat(options_.folder, "/", name);
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", folder, ": ", error.message()));
  }
  return Ranks(
      {options_.worker, "--address", server.address(), "--session",
       SessionOf(name), "--iterations", absl::StrCat(options_.iterations),
       "--seed", absl::StrCat(options_.seed)},
      folder);
}

absl::StatusOr<std::vector<Decision>> Stage::CheckLog(const std::string& name,
                                                      const Ranks& run) {
  absl::StatusOr<std::vector<Decision>> log =
      ListAll(*connection_, SessionOf(name));
  if (!log.ok()) return log;
  const absl::StatusOr<std::vector<std::vector<SeenStep>>> seen = run.Seen();
  if (!seen.ok()) return seen.status();
  const std::vector<std::string> conflicts =
      Conflicts(*log, InitialScaler(), *seen);
  for (const std::string& conflict : conflicts) {
    std::cout << "    conflict: " << conflict << std::endl;
  }
  claims.Check(!log->empty() && conflicts.empty(),
               absl::StrCat("the log's ", log->size(),
                            " decisions have no conflict: one for each step, "
                            "and every rank was told the same"));
  const absl::StatusOr<std::vector<Decision>> watched =
      WatchAll(*connection_, SessionOf(name), log->back().step);
  if (!watched.ok()) return watched.status();
  claims.Check(*watched == *log,
               "who watches from step 1 on sees the same decisions");
  return log;
}

void Stage::CheckFinish(const std::vector<Finish>& finishes) {
  bool same = true;
  for (std::size_t rank = 0; rank < finishes.size(); ++rank) {
    const Finish& next = finishes[(rank + 1) % finishes.size()];
    same = same && finishes[rank].parameters == next.parameters &&
           finishes[rank].replica == next.own;
  }
  claims.Check(same,
               "all ranks end with the same parameters, and every replica is "
               "its shard bit for bit");
}

}  // namespace lossscaler::sharded
