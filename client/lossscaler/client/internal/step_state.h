// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef LOSSSCALER_CLIENT_INTERNAL_STEP_STATE_H_
#define LOSSSCALER_CLIENT_INTERNAL_STEP_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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
      : session(std::move(session_in)), begun(session->BeginAt()) {}

  // Before the first word about this step is sent: settles a vote that an
  // earlier Step cast on its number without an answer. VOTE_CONFLICT if that
  // ended the step.
  absl::Status Ready();

  // Adds what was found in some tensors.
  UnscaleResult Found(std::vector<UnscaleVerdict> verdicts, double scale,
                      bool statistics);

  // Votes, or votes again; see Step::Update().
  absl::StatusOr<Decision> Cast(Verdict verdict);
  // Votes SKIP if nobody has voted, and does not wait for an answer long.
  void Abandon();

  const std::shared_ptr<Session::State> session;
  // Step, scale and base are fixed from here on.
  const Current begun;
  std::optional<std::int64_t> iteration;

  // Everything that was found.
  UnscaleVerdict total;
  bool checked = false;
  // Gradients were lost: what they hold is not known.
  bool lost = false;
  // Every check brought its sum of squares.
  bool has_statistics = true;

  // The vote, once it has been sent, and what came of it.
  std::optional<Vote> vote;
  std::optional<Decision> decision;

  // SCALE_MISMATCH, with which the step's gradients are lost.
  absl::Status OtherScale(std::string_view what, double scale);

 private:
  Vote MakeVote(Verdict verdict) const;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_INTERNAL_STEP_STATE_H_
