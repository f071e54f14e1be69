// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sharded_trainer/trainer.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "lossscaler/client/run_step.h"
#include "lossscaler/core/error.h"
#include "sharded_trainer/saved_shard.h"

namespace lossscaler::sharded {
namespace {

// Errors of the peers, not of the service: a rank has died or has just come.
bool PeersAreGone(const absl::Status& error) {
  return !ReasonOf(error) &&
         (absl::IsAborted(error) || absl::IsUnavailable(error));
}

}  // namespace

Trainer::Trainer(WorkerSession& worker, Peers& peers, const Lesson& lesson,
                 const Notes& notes, const TrainerOptions& options)
    : worker_(worker),
      peers_(peers),
      lesson_(lesson),
      notes_(notes),
      options_(options),
      gradients_(kRanks * ShardSize()),
      unscaled_(static_cast<Eigen::Index>(ShardSize())) {
  if (!worker_.iteration()) worker_.set_iteration(0);
}

absl::Status Trainer::Run() {
  if (options_.newcomer) {
    absl::Status status = CatchUp();
    if (!status.ok()) return status;
  }
  while (*worker_.iteration() < options_.iterations) {
    absl::StatusOr<StepResult> result = TakeStep();
    if (ReasonOf(result.status()) == Reason::kFenced) {
      std::cerr << result.status().message() << std::endl;
      result = RejoinAndWait();
    }
    if (!result.ok() && !PeersAreGone(result.status())) return result.status();
    if (!result.ok()) {
      // RunStep has skipped the step for everyone.
      std::cerr << result.status().message() << std::endl;
      continue;
    }
    absl::Status status = Note(result->decision());
    if (status.ok() && worker_.iteration() == options_.checkpoint) {
      status = SaveCheckpoint();
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Trainer::RejoinAndWait() {
  absl::Status status = worker_.Rejoin();
  if (status.ok()) status = notes_.SetResumeToken(worker_.resume_token());
  if (!status.ok()) return status;
  std::optional<PendingDecision> vote = worker_.UnansweredVote();
  if (!vote) return absl::AbortedError("there was no step under way");
  absl::StatusOr<StepResult> late = vote->Wait();
  if (!late.ok()) return late;
  if (std::optional<ApplyPermit> permit = late->TakePermit()) {
    Apply(*permit);
    permit->Done();
  }
  return late;
}

absl::StatusOr<StepResult> Trainer::TakeStep() {
  const GradientTensor shard[] = {
      Into("shard", RunOf(peers_.rank(), std::span(gradients_)),
           Elements(unscaled_))};
  return RunStep(
      worker_, [this](WorkerStep& step) { return ForwardBackward(step); },
      shard,
      [this](const ApplyPermit& permit) {
        Apply(permit);
        return absl::OkStatus();
      });
}

absl::Status Trainer::ForwardBackward(WorkerStep& step) {
  iteration_ = *step.iteration();
  const absl::StatusOr<Meeting> meeting =
      peers_.Meet({.step = step.number(),
                   .iteration = iteration_,
                   .base = worker_.base().step},
                  [this] { return epoch(); });
  if (!meeting.ok()) return meeting.status();
  if (meeting->handed_over) {
    return absl::AbortedError("a newcomer was given its shard in this step");
  }
  lesson_.Backward(peers_.parameters(), peers_.rank(), iteration_,
                   step.ScaleLoss(1.0f), gradients_);
  absl::Status reduced = peers_.AllReduce(gradients_);
  if (reduced.ok() && iteration_ == options_.stop) raise(SIGSTOP);
  return reduced;
}

void Trainer::Apply(const ApplyPermit& permit) {
  peers_.own.Step(unscaled_);
  // The next rank has found its gradients finite; its shard and this replica of
  // it take the same step.
  const auto next = RunOf(peers_.next_rank(), std::span(gradients_));
  const auto scale = static_cast<float>(permit.decision().scale_before);
  Eigen::VectorXf gradients(unscaled_.size());
  std::transform(
      next.begin(), next.end(), gradients.begin(),
      [&](Eigen::half value) { return static_cast<float>(value) / scale; });
  peers_.replica.Step(gradients);
}

absl::Status Trainer::CatchUp() {
  absl::StatusOr<WorkerStep> step = worker_.BeginStep();
  if (!step.ok()) return step.status();
  const absl::StatusOr<Meeting> meeting = peers_.Meet(
      {.step = step->number(), .in_sync = false}, [this] { return epoch(); });
  if (!meeting.ok()) return meeting.status();
  const std::string& base_of = worker_.membership().current.base_session_uid;
  worker_.set_base({.session_uid = base_of.empty() ? worker_.uid() : base_of,
                    .step = meeting->standing.base});
  iteration_ = meeting->standing.iteration;
  step->set_iteration(iteration_);
  // The others skip this step.
  const absl::StatusOr<StepResult> result = step->Abstain();
  return result.ok() ? Note(result->decision()) : result.status();
}

absl::Status Trainer::Note(const Decision& decision) {
  return notes_.Append({.step = decision.step,
                        .iteration = iteration_,
                        .overflow = !unscaled_.allFinite(),
                        .outcome = std::string(OutcomeName(decision.outcome)),
                        .scale_after = decision.scale_after});
}

absl::Status Trainer::SaveCheckpoint() {
  const absl::StatusOr<std::string> session = worker_.Checkpoint();
  if (!session.ok()) return session.status();
  return Save(notes_.checkpoint_path(),
              {.session = *session, .shard = peers_.own});
}

}  // namespace lossscaler::sharded
