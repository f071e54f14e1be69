// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sharded_trainer/launcher/stage.h"

namespace lossscaler::sharded {
namespace {

constexpr int kLast = 0;

}  // namespace

absl::Status Restart(Stage& stage) {
  const std::int64_t saved = stage.iterations() / 3;
  const std::int64_t killed = stage.iterations() * 2 / 3;
  const std::vector<std::string> save = {"--checkpoint", absl::StrCat(saved)};

  absl::StatusOr<Ranks> undisturbed = stage.MakeRun("undisturbed");
  if (!undisturbed.ok()) return undisturbed.status();
  std::cout << "An undisturbed run of " << stage.iterations()
            << " iterations ..." << std::endl;
  absl::Status status = undisturbed->StartAll(save);
  if (!status.ok()) return status;
  const auto expected = undisturbed->AwaitEnd();
  if (!expected.ok()) return expected.status();

  absl::StatusOr<Ranks> run = stage.MakeRun("restarted");
  if (!run.ok()) return run.status();
  std::cout << "... and one that saves a checkpoint after iteration " << saved
            << " and is killed in iteration " << killed << "." << std::endl;
  run->StopAt(kLast, killed);
  status = run->StartAll(save);
  if (!status.ok()) return status;
  status = run->AwaitStop(kLast);
  if (!status.ok()) return status;
  run->KillAll();
  std::cout << "All four are dead; they come back as attempt 2, with their "
               "checkpoints."
            << std::endl;
  absl::StatusOr<Ranks> second = stage.MakeRun("restarted");
  if (!second.ok()) return second.status();
  status = second->StartAll({"--attempt", "2", "--load"});
  if (!status.ok()) return status;
  const auto finish = second->AwaitEnd();
  if (!finish.ok()) return finish.status();

  std::cout << absl::StrFormat("\n%-12s  %8s  %13s  %16s\n", "run", "loss",
                               "test accuracy", "parameters");
  for (const auto& [name, end] : {std::pair("undisturbed", expected->front()),
                                  std::pair("restarted", finish->front())}) {
    std::cout << absl::StrFormat("%-12s  %8.4f  %11.1f %%  %016x\n", name,
                                 end.loss, 100.0 * end.accuracy,
                                 end.parameters);
  }
  std::cout << std::endl;

  const auto log = stage.CheckLog("restarted", *second);
  if (!log.ok()) return log.status();
  stage.CheckFinish(*finish);
  const auto restores =
      std::count_if(log->begin(), log->end(), [](const Decision& decision) {
        return decision.reason == DecisionReason::kRestored;
      });
  stage.claims.Check(restores == 1, absl::StrCat("restores: ", restores));
  const auto last = std::max_element(finish->begin(), finish->end(),
                                     [](const Finish& a, const Finish& b) {
                                       return a.incarnation < b.incarnation;
                                     });
  stage.claims.Check(
      last->incarnation == 2 * kRanks,
      absl::StrCat("joins: ", last->incarnation, ", one for each process"));
  stage.claims.Check(
      finish->front().parameters == expected->front().parameters,
      "the parameters are those of the undisturbed run, bit for bit");
  return absl::OkStatus();
}

}  // namespace lossscaler::sharded
