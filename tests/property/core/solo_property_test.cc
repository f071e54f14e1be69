// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lossscaler/core/solo.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "testing/votes.h"

namespace lossscaler {
namespace {

using ::lossscaler::testing::VoteOf;

// One thing that a caller may try.
struct Event {
  bool restore = false;
  Verdict verdict = Verdict::kFinite;
  // What the caller believes, off by this much; nullopt: it does not say.
  std::optional<int> base_error;
  std::optional<int> scale_error;
  std::optional<int> epoch_error;
};

rc::Gen<std::optional<int>> Error() {
  // Right more often than wrong, so that runs get somewhere.
  return rc::gen::weightedElement<std::optional<int>>(
      {{4, std::nullopt}, {8, 0}, {1, -1}, {1, 1}});
}

rc::Gen<Event> AnyEvent() {
  return rc::gen::build<Event>(
      rc::gen::set(&Event::restore,
                   rc::gen::weightedElement<bool>({{1, true}, {9, false}})),
      rc::gen::set(&Event::verdict,
                   rc::gen::weightedElement<Verdict>({{6, Verdict::kFinite},
                                                      {4, Verdict::kOverflow},
                                                      {1, Verdict::kAbstain},
                                                      {1, Verdict::kSkip}})),
      rc::gen::set(&Event::base_error, Error()),
      rc::gen::set(&Event::scale_error, Error()),
      rc::gen::set(&Event::epoch_error, Error()));
}

LossScaler AnyScaler() {
  const auto hysteresis = *rc::gen::inRange<std::int64_t>(1, 4);
  DynamicOptions options;
  options.initial_scale = *rc::gen::element(1.0, 1024.0, 65536.0, 0x1p127);
  options.growth_interval = *rc::gen::inRange<std::int64_t>(1, 5);
  options.hysteresis = hysteresis;
  return *rc::gen::element(LossScaler::None(), *LossScaler::Static(128.0),
                           *LossScaler::Dynamic(options));
}

bool Wrong(const std::optional<int>& error) { return error.value_or(0) != 0; }

Vote VoteFor(const Event& event, const SessionState& state) {
  Vote vote = VoteOf(event.verdict);
  if (event.base_error) vote.base = state.base + *event.base_error;
  if (event.scale_error) {
    vote.scale_used = state.scaler.scale() * (1.0 + 0.25 * *event.scale_error);
  }
  return vote;
}

RC_GTEST_PROP(SoloProperty, EveryHistoryKeepsTheRules, ()) {
  const LossScaler config = AnyScaler();
  const auto events = *rc::gen::container<std::vector<Event>>(AnyEvent());
  SessionState state = NewSession("s", "uid", config, "", absl::UnixEpoch());
  // What a plain scaler makes of the same overflow flags.
  LossScaler plain = config;
  std::int64_t expected_base = 0;
  std::int64_t expected_epoch = 1;
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::set<std::int64_t> decided_steps;

  for (const Event& event : events) {
    const SessionState before = state;
    const Vote vote = VoteFor(event, state);
    std::optional<std::int64_t> if_epoch;
    if (event.epoch_error) if_epoch = state.epoch + *event.epoch_error;
    const absl::StatusOr<Decided> decided =
        event.restore ? Restore(state, config, if_epoch, "", absl::UnixEpoch())
                      : Decide(state, vote, absl::UnixEpoch());
    RC_ASSERT(state == before);

    const bool refused =
        event.restore
            ? Wrong(event.epoch_error)
            : Wrong(event.scale_error) || (Wrong(event.base_error) &&
                                           event.verdict != Verdict::kAbstain);
    RC_ASSERT(decided.ok() == !refused);
    if (refused) continue;

    const Decision& decision = decided->decision;
    RC_ASSERT(decided_steps.insert(decision.step).second);
    RC_ASSERT(decision.step == before.step);
    RC_ASSERT(decided->state.step == before.step + 1);
    RC_ASSERT(decided->state.revision == before.revision + 1);
    RC_ASSERT(decision.scale_before == plain.scale());
    if (event.restore) {
      plain = config;
      expected_base = decision.step;
      ++expected_epoch;
      RC_ASSERT(decision.outcome == Outcome::kAborted);
    } else if (event.verdict == Verdict::kFinite ||
               event.verdict == Verdict::kOverflow) {
      const bool overflow = event.verdict == Verdict::kOverflow;
      RC_ASSERT(plain.Update(overflow).apply == decision.apply());
      ++(overflow ? skipped : applied);
      if (!overflow) expected_base = decision.step;
    } else {
      ++skipped;
      RC_ASSERT(decision.outcome == Outcome::kSkip);
    }
    RC_ASSERT(decision.scale_after == plain.scale());
    RC_ASSERT(decided->state.scaler == plain);
    RC_ASSERT(decided->state.base == expected_base);
    RC_ASSERT(decision.base_after == expected_base);
    RC_ASSERT(decided->state.epoch == expected_epoch);
    RC_ASSERT(decision.applied == applied);
    RC_ASSERT(decision.skipped == skipped);
    RC_ASSERT(decision.attempted == applied + skipped);
    RC_ASSERT(decided->state.config == config);
    // Whoever voted may ask again; whoever did not is never told to apply.
    RC_ASSERT(event.restore ||
              CheckReplay(decided->state, decision, vote).ok());
    if (decision.apply()) {
      RC_ASSERT(
          !CheckReplay(decided->state, decision, VoteOf(Verdict::kOverflow))
               .ok());
    }
    state = decided->state;
  }
}

RC_GTEST_PROP(SoloProperty, AStepIsOpenKeptForgottenOrAhead, ()) {
  SessionState state =
      NewSession("s", "uid", LossScaler::None(), "", absl::UnixEpoch());
  state.step = *rc::gen::inRange<std::int64_t>(1, 5000);
  const auto step = *rc::gen::inRange<std::int64_t>(1, 6000);
  const bool kept = step <= state.step && state.step - step <= 1024;
  RC_ASSERT(CheckStep(state, step).ok() == kept);
}

}  // namespace
}  // namespace lossscaler
