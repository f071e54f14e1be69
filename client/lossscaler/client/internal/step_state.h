// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_STEP_STATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_STEP_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/internal/session_state.h"
#include "lossscaler/client/session.h"
#include "lossscaler/core/decision.h"

namespace lossscaler {

// Thread safety: one thread at a time.
struct Step::State {
 public:
  explicit State(std::shared_ptr<Session::State> session_in)
      : session(std::move(session_in)), begun(session->current()) {}

  // Adds what was found in some tensors.
  UnscaleResult Found(std::vector<UnscaleVerdict> verdicts, double scale,
                      bool statistics);

  // Votes, or votes again; see Step::Update().
  absl::StatusOr<Decision> Cast(Verdict verdict);
  // Votes SKIP if there was no vote, and does not wait for an answer long.
  void Abandon();

  const std::shared_ptr<Session::State> session;
  // Step, scale and base are fixed from here on.
  const Current begun;
  std::optional<std::int64_t> iteration;

  // Everything that was found.
  UnscaleVerdict total;
  bool checked = false;
  // An Unscale failed: what it would have found is not known.
  bool lost = false;
  // Every check brought its sum of squares.
  bool has_statistics = true;

  // The vote, once it has been sent, and what came of it.
  std::optional<Vote> vote;
  std::optional<Decision> decision;

 private:
  absl::StatusOr<Decision> Send(std::optional<absl::Duration> single_attempt);
  Vote MakeVote(Verdict verdict) const;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_INTERNAL_STEP_STATE_H_
