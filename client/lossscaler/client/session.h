// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Session: a scaler session of one trainer. Step: one training step of it.
//
//   lossscaler::Client client(options);
//   auto session = client.OpenSession("team/project/run", *scaler);
//   while (training) {
//     lossscaler::Step step = session->BeginStep();
//     // loss * scale.
//     auto scaled_loss = step.ScaleLoss(loss);
//     ... backward ...
//     // Gradients / scale, and every element tested.
//     auto found = step.Unscale(tensors);
//     // Apply or skip. An error is neither: see below.
//     auto decision = step.Update();
//     if (!decision.ok()) return decision.status();
//     if (decision->apply()) optimizer.Step();
//   }
//
// No call ever decides alone: an error of Update() is neither apply nor skip.
// Keep the gradients and call Update() again, or end the run. After
// VOTE_CONFLICT, STEP_FORGOTTEN, STEP_AHEAD or SCALE_MISMATCH these gradients
// have no step any more: drop them and begin another step; the session has
// learnt by then where it stands.
//
// Base: every vote names the last decision that the trainer's parameters
// contain, and the server refuses it with RESYNC if it decided otherwise
// meanwhile. A session's handle starts at the base the server names when it is
// opened, moves with each APPLY that Update() returns and each Restore(), and
// is shared by its copies. A trainer that loads a checkpoint says what was
// saved with it:
//
//   Save: the parameters, session->base() and session->CheckpointJson().
//   Load: the parameters, session->set_base(saved_base).
//
// If the session is where the checkpoint is, training goes on. Otherwise the
// first vote is refused with RESYNC, and Restore() takes the session back to
// the checkpoint. A decision whose answer never came does not move the base: a
// trainer that went on without it hears RESYNC, not a wrong model. (Keep the
// Step and call Update() again instead: it returns that decision.) Nor does
// another's Restore().

#ifndef LOSSSCALER_CLIENT_SESSION_H_
#define LOSSSCALER_CLIENT_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/client/gradient.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/core/unscale.h"

namespace lossscaler {

struct ScaledLosses {
  // loss * scale in float32, in the order given.
  std::vector<float> losses;
  // Indices of losses that were NaN or infinite before.
  std::vector<int> non_finite;
  // Indices of finite losses that are infinite in the type asked for.
  std::vector<int> overflowing;
};

struct UnscaleOptions {
  // Leave out sum_of_squares and absolute_maximum.
  bool skip_statistics = false;
  // Called on the calling thread as answers arrive, and once more when all
  // have; not at all for local work. Must not throw, nor call back into the
  // same Step. See UnscaleProgress.
  std::function<void(const UnscaleProgress&)> on_progress;
};

struct UnscaleResult {
  // Over all tensors; first_bad_index is not set.
  UnscaleVerdict total;
  // One for each tensor, in the order given.
  std::vector<UnscaleVerdict> tensors;
  // What the gradients were divided by.
  double scale = 1.0;

  // Euclidean norm of the unscaled gradients; 0 without statistics.
  double norm() const;
};

class Session;

// One step: fixes step number and scale for everything in an accumulation
// window. Move-only. Destroyed without a vote (an early continue, an
// exception) it votes SKIP, once and without waiting long, so that nobody
// waits for it; without an answer the next BeginStep() repeats that vote.
//
// Thread safety: one thread at a time.
class Step {
 public:
  Step(Step&&) noexcept;
  Step& operator=(Step&&) noexcept;
  ~Step();

  std::int64_t number() const;
  double scale() const;
  // What the trainer's parameters contained when the step was begun.
  std::int64_t base() const;

  // The trainer's own counter, recorded in the journal with the vote.
  void set_iteration(std::int64_t iteration);

  // loss * scale by the server. May be called any number of times.
  // SCALE_MISMATCH if the server does not use scale() any more.
  absl::StatusOr<float> ScaleLoss(float loss);
  absl::StatusOr<ScaledLosses> ScaleLoss(
      std::span<const float> losses,
      ElementType loss_type = ElementType::kFloat32);

  // gradients / scale by the server, in one stream, resumed by itself when the
  // stream breaks; no element is ever divided twice. May be called any number
  // of times: Update() votes on everything that was found.
  //
  // NO_TENSORS, TOO_MANY_TENSORS, INVALID_TENSOR (a tensor that has no memory,
  // shares some, is named twice, or stores into a type that it cannot) and
  // INVALID_CREDENTIALS come before any gradient is touched: call again. After
  // any other error some of the gradients are unscaled and some are not: drop
  // them. Either way nothing reads or writes their memory once this has
  // returned.
  absl::StatusOr<UnscaleResult> Unscale(std::span<const GradientTensor> tensors,
                                        const UnscaleOptions& options = {});

  // The same on this machine, without the network. Gradients, counts, indices
  // and absolute_maximum have the same bits; sum_of_squares is within the
  // tolerance of core/unscale.h.
  absl::StatusOr<UnscaleResult> UnscaleLocally(
      std::span<const GradientTensor> tensors,
      const UnscaleOptions& options = {});

  // Takes the verdict of gradients that the caller has unscaled and checked
  // itself (with step.scale()). With skip_statistics its sum and maximum are
  // not known, rather than 0.
  void AddVerdict(const UnscaleVerdict& verdict,
                  const UnscaleOptions& options = {});

  // Votes OVERFLOW if anything found was not finite, else FINITE, and returns
  // the decision. After an error it may be called again: the vote stays the
  // same. NO_GRADIENTS_CHECKED if nothing was unscaled; VERDICT_LOST if
  // the step's gradients are lost. VOTE_CONFLICT and others: see the top.
  absl::StatusOr<Decision> Update();

  // Votes SKIP: the step is dropped without penalty. VOTE_CONFLICT if the step
  // has voted otherwise, even without an answer: that vote may be recorded.
  absl::StatusOr<Decision> Skip();

  // Votes ABSTAIN: there was no data. VOTE_CONFLICT as above.
  absl::StatusOr<Decision> Abstain();

 private:
  friend class Session;
  struct State;
  explicit Step(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A handle of a session; copies share what is known of the session's state.
//
// Thread safety: any thread, at any time.
class Session {
 public:
  const std::string& name() const;
  const std::string& uid() const;
  const LossScaler& config() const;

  // Where the session stood when this handle last heard of it.
  Current current() const;

  // A step at the session's current number and scale. No network, unless the
  // answer to an earlier vote was lost, or the session is not where it was
  // thought to be: then that is settled first, within unavailable_budget. If it
  // cannot be, the calls of the step say why.
  Step BeginStep();

  // The decision that the trainer's parameters contain: what to save with a
  // checkpoint, and to state after loading one. See the top.
  std::int64_t base() const;
  void set_base(std::int64_t base);

  // Asks the server where the session stands.
  absl::StatusOr<SessionInfo> Refresh();

  // The scaler's configuration and state as JSON, for the trainer's own
  // checkpoint (lossscaler/core/loss_scaler_json.h).
  absl::StatusOr<std::string> CheckpointJson();

  // Sets the scaler to a saved state. The open step ends as ABORTED(RESTORED).
  // After an error without an answer (UNAVAILABLE_BUDGET_SPENT) it may be
  // called again with an equal state: it is done once. EPOCH_MISMATCH if
  // another caller restored since this handle last heard; the handle has then
  // learnt of it, and a second call restores over that.
  absl::StatusOr<Decision> Restore(const LossScaler& state);

  // Deletes this session, and no other that has its name by now.
  absl::Status Delete();

 private:
  friend class Client;
  friend class Step;
  struct State;
  explicit Session(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_SESSION_H_
