// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_WORKER_STEP_STATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_WORKER_STEP_STATE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lossscaler/client/internal/open_votes.h"
#include "lossscaler/client/internal/worker_state.h"
#include "lossscaler/client/worker_step.h"
#include "lossscaler/core/decision.h"

namespace lossscaler {

// Thread safety: one thread at a time.
struct WorkerStep::State {
  // What was found in one part of the gradients.
  struct FoundPart {
    bool overflow = false;
    // Unset: a share of it is not known.
    std::optional<double> sum_of_squares = 0.0;
  };

  State(std::shared_ptr<internal::WorkerState> state_in,
        internal::BegunStep begun_in)
      : state(std::move(state_in)), begun(std::move(begun_in)) {}

  // Adds what was found in some tensors.
  UnscaleResult Found(std::vector<UnscaleVerdict> verdicts,
                      const WorkerUnscaleOptions& options);
  // FINITE or OVERFLOW, or why it is not known.
  absl::StatusOr<Verdict> Judge() const;
  Vote MakeVote(Verdict verdict) const;
  // INVALID_FIELD if the server could not even read the vote, or would refuse
  // it whatever the state of the session is.
  absl::Status Check(const Vote& vote) const;
  void Send(const Vote& vote);
  bool in_sync() const;
  // Votes if the step is without this worker's vote, and does not wait.
  void Abandon();

  const std::shared_ptr<internal::WorkerState> state;
  // Step, scale and base are fixed from here on.
  internal::BegunStep begun;

  // By name; "" is that of gradients without a part, and comes first.
  std::map<std::string, FoundPart> parts;
  // Gradients were lost: what they hold is not known.
  bool lost = false;

  // The vote, once it has been sent.
  std::shared_ptr<internal::PendingVote> sent;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_INTERNAL_WORKER_STEP_STATE_H_
