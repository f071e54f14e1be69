// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/solo_events.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/solo.h"

namespace lossscaler::server {

Reaction ReactToSoloUpdate(const State& state, const DecisionLog& log,
                           std::optional<std::int64_t> step, Vote vote,
                           const Resolve& resolve, absl::Time now,
                           const Done<UpdateAnswer>& done) {
  const auto replay = [&](const Decision& decision) {
    if (absl::Status status = CheckReplay(*state, decision, vote);
        !status.ok()) {
      return Refuse(done, status);
    }
    return Reaction{.answer = [done, decision, state] {
      done(UpdateAnswer{.decision = decision, .current = state->current()});
    }};
  };

  if (!step) {
    const absl::StatusOr<std::optional<Decision>> made =
        log.FindRequest(state->uid, vote.request_id);
    if (!made.ok()) return Refuse(done, made.status());
    if (*made) return replay(**made);
    step = state->step;
  }
  if (absl::Status status = CheckStep(*state, *step); !status.ok()) {
    return Refuse(done, status);
  }
  if (*step < state->step) {
    const absl::StatusOr<Decision> decision = log.FindStep(*state, *step);
    if (!decision.ok()) return Refuse(done, decision.status());
    return replay(*decision);
  }

  const absl::StatusOr<Verdict> resolved = resolve(vote);
  if (!resolved.ok()) return Refuse(done, resolved.status());
  vote.resolved = *resolved;
  absl::StatusOr<Decided> decided = Decide(*state, vote, now);
  if (!decided.ok()) return Refuse(done, decided.status());
  UpdateAnswer answer{.decision = decided->decision,
                      .current = decided->state.current()};
  return Reaction{.write = Write{.state = std::move(decided->state),
                                 .decision = std::move(decided->decision)},
                  .answer = [done, answer] { done(answer); }};
}

Reaction ReactToSoloRestore(const State& state, const DecisionLog& log,
                            const LossScaler& scaler,
                            std::optional<std::int64_t> if_epoch,
                            const std::string& request_id, absl::Time now,
                            const Done<RestoreAnswer>& done) {
  // The request id comes first: a repeated call must not be refused for the
  // epoch that its own first copy made.
  const absl::StatusOr<std::optional<Decision>> made =
      log.FindRestore(state->uid, request_id);
  if (!made.ok()) return Refuse(done, made.status());
  if (*made) {
    RestoreAnswer answer{
        .decision = **made,
        .snapshot = {.state = *state, .last_decision = log.Last()}};
    return Reaction{.answer = [done, answer] { done(answer); }};
  }
  absl::StatusOr<Decided> restored =
      lossscaler::Restore(*state, scaler, if_epoch, request_id, now);
  if (!restored.ok()) return Refuse(done, restored.status());
  RestoreAnswer answer{.decision = restored->decision,
                       .snapshot = {.state = restored->state,
                                    .last_decision = restored->decision}};
  return Reaction{.write = Write{.state = std::move(restored->state),
                                 .decision = std::move(restored->decision)},
                  .answer = [done, answer] { done(answer); },
                  .cause = Cause::kRestore};
}

}  // namespace lossscaler::server
