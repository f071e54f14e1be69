// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SimulatedTrainer: one worker of a group session as a trainer runs it, with a
// model that is only a digest, gradients that are only a verdict drawn by a
// seed, and a history of all it sees.
//
// It never decides alone: it applies by permit, skips by decision, and keeps
// its vote until it has an answer. A model that lacks a step is taken from a
// peer; until one has it, the worker abstains.
//
// Thread safety: one thread.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_SIMULATED_TRAINER_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_SIMULATED_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fault/group/history.h"
#include "fault/group/model_shelf.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/worker_session.h"

namespace lossscaler::testing {

struct TrainerOptions {
  std::string address;
  std::string session;
  std::string worker;
  std::int64_t attempt = 0;
  // Begin with the checkpoint of this step, as all others do; 0: from the
  // beginning. Unset: the process is restarted alone.
  std::optional<std::int64_t> from_checkpoint;
  // Take over from the former process by its token.
  bool resume = false;

  std::uint64_t seed = 0;
  // So many steps of a thousand are OVERFLOW, as many in all SKIP or ABSTAIN.
  int unclean_permille = 0;
  // How long the gradients take.
  absl::Duration compute;
  // A checkpoint after every step whose number it divides; 0: none.
  std::int64_t checkpoint_every = 0;

  // Leave after this step; 0: go on.
  std::int64_t until_step = 0;
  // Stand still (SIGSTOP) before voting on this step; 0: never.
  std::int64_t stop_before = 0;
};

// How a trainer ends: the exit code of its process.
enum class TrainerEnd {
  kLeft = 0,
  // Something that should not happen; its history says what.
  kBroken = 1,
  // Nobody has the model that the session builds on, or not all have loaded the
  // same: the whole job must start again.
  kNeedsAttempt = 3,
  // The whole job has started again without this one.
  kReplaced = 4,
};

class SimulatedTrainer {
 public:
  SimulatedTrainer(const TrainerOptions& options, const ModelShelf& shelf,
                   HistoryWriter* history);

  // Until its last step, or until `leave` is set.
  TrainerEnd Run(const volatile int& leave);

 private:
  absl::Status Join();
  absl::Status Rejoin();
  void Joined();
  absl::Status Step();
  Verdict Draw(std::int64_t step) const;
  // Before it is sent.
  void NoteVote(const WorkerStep& step, Verdict verdict);
  // Until the vote on `step` has an answer, whatever comes in between.
  absl::Status Vote(WorkerStep* step, Verdict verdict);
  void Follow(StepResult* result);
  void TakeModel(const Model& model);
  void KeepCheckpoint(std::int64_t step);
  absl::Status CatchUp();

  Observation Seen(Event event) const;
  void Refused(const absl::Status& why);

  const TrainerOptions options_;
  const ModelShelf& shelf_;
  HistoryWriter* const history_;
  const std::shared_ptr<Connection> connection_;
  std::optional<WorkerSession> session_;
  // The one of the session; empty until it has joined.
  std::string uid_;
  Model model_;
  // What the model must become; unset: it is in sync.
  std::optional<Base> wanted_;
  int vain_searches_ = 0;
  std::int64_t last_step_ = 0;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_SIMULATED_TRAINER_H_
