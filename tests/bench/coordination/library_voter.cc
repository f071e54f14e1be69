// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/coordination/voter.h"
#include "lossscaler/client/client.h"

namespace lossscaler::bench {
namespace {

class LibraryVoter : public Voter {
 public:
  explicit LibraryVoter(WorkerSession worker) : worker_(std::move(worker)) {}

  absl::Status Vote() override {
    absl::StatusOr<WorkerStep> step = worker_.BeginStep();
    if (!step.ok()) return step.status();
    step->AddVerdict({.element_count = 1, .sum_of_squares = 1});
    absl::StatusOr<StepResult> result = step->Update();
    if (!result.ok()) return result.status();
    if (std::optional<ApplyPermit> permit = result->TakePermit()) {
      permit->Done();
      return absl::OkStatus();
    }
    return absl::InternalError("a step of finite votes was not applied");
  }

 private:
  WorkerSession worker_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Voter>> MakeLibraryVoter(
    const VoterOptions& options) {
  absl::StatusOr<LossScaler> scaler = LossScaler::Dynamic(65536, 2, 2000);
  if (!scaler.ok()) return scaler.status();
  // A server that does not answer ends the run soon.
  Client client(
      {.address = options.address, .unavailable_budget = absl::Seconds(10)});
  const GroupConfig group{.min_workers = options.workers,
                          .max_workers = options.workers};
  if (absl::Status opened =
          client.OpenGroup(options.session, *scaler, group).status();
      !opened.ok()) {
    return opened;
  }
  absl::StatusOr<WorkerSession> worker = client.JoinGroup(
      options.session, {.worker = absl::StrCat("rank-", options.rank)});
  if (!worker.ok()) return worker.status();
  return std::make_unique<LibraryVoter>(*std::move(worker));
}

}  // namespace lossscaler::bench
