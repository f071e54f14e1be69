// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sharded_trainer/configuration.h"
#include "sharded_trainer/launcher/stage.h"

namespace lossscaler::sharded {
namespace {

constexpr int kKilled = 2;
constexpr int kInterrupted = 1;
constexpr int kFrozen = 3;
constexpr absl::Duration kFreeze = absl::Seconds(7);

void Say(std::int64_t iteration, int rank, const std::string& what) {
  std::cout << "iteration " << iteration << ", rank " << rank
            << " has reduced and not voted: " << what << std::endl;
}

bool Ended(const std::vector<Decision>& log, DecisionReason reason,
           const std::string& worker) {
  return std::any_of(log.begin(), log.end(), [&](const Decision& decision) {
    return decision.reason == reason &&
           std::find(decision.lost.begin(), decision.lost.end(), worker) !=
               decision.lost.end();
  });
}

void PrintInterruptions(const std::vector<Decision>& log) {
  std::cout << std::endl;
  for (const Decision& decision : log) {
    if (decision.apply() || decision.outcome == Outcome::kSkipOverflow) {
      continue;
    }
    std::cout << "step " << decision.step << ": " << decision.explanation
              << std::endl;
  }
}

}  // namespace

absl::Status Chaos(Stage& stage) {
  absl::StatusOr<Ranks> run = stage.MakeRun("chaos");
  if (!run.ok()) return run.status();
  const std::int64_t quarter = stage.iterations() / 4;
  run->StopAt(kKilled, quarter);
  run->StopAt(kInterrupted, 2 * quarter);
  run->StopAt(kFrozen, 3 * quarter);
  absl::Status status = run->StartAll();
  if (!status.ok()) return status;

  status = run->AwaitStop(kKilled);
  if (!status.ok()) return status;
  Say(quarter, kKilled, "SIGKILL, and a new process in its place");
  run->Kill(kKilled);
  status = run->Start(kKilled);
  if (!status.ok()) return status;

  status = run->AwaitStop(kInterrupted);
  if (!status.ok()) return status;
  Say(2 * quarter, kInterrupted,
      "SIGKILL for the server, and a new one on the same state");
  stage.server.Kill();
  run->Continue(kInterrupted);
  status = stage.server.Start();
  if (!status.ok()) return status;

  status = run->AwaitStop(kFrozen);
  if (!status.ok()) return status;
  Say(3 * quarter, kFrozen,
      absl::StrCat("SIGSTOP for ", absl::FormatDuration(kFreeze),
                   ", its lease is ", absl::FormatDuration(kGroup.lease_ttl)));
  absl::SleepFor(kFreeze);
  run->Continue(kFrozen);

  const absl::StatusOr<std::vector<Finish>> finish = run->AwaitEnd();
  if (!finish.ok()) return finish.status();
  const absl::StatusOr<std::vector<Decision>> log =
      stage.CheckLog("chaos", *run);
  if (!log.ok()) return log.status();
  stage.CheckFinish(*finish);
  const absl::StatusOr<ServerInfo> server = stage.connection().GetServerInfo();
  if (!server.ok()) return server.status();
  stage.claims.Check(server->start_count == 2,
                     "the server was started twice on one state");
  stage.claims.Check(
      Ended(*log, DecisionReason::kWorkerLost, absl::StrCat("rank-", kKilled)),
      "the killed rank's step was skipped by all");
  stage.claims.Check(
      Ended(*log, DecisionReason::kWorkerLost, absl::StrCat("rank-", kFrozen)),
      "so was the frozen rank's");
  stage.claims.Check(finish->front().accuracy > 0.9,
                     "the network has learnt its digits all the same");
  PrintInterruptions(*log);
  return absl::OkStatus();
}

}  // namespace lossscaler::sharded
