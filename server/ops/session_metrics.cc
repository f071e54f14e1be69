// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/session_metrics.h"

#include <cstddef>
#include <string>
#include <utility>

#include "lossscaler/core/decision.h"
#include "lossscaler/core/degraded.h"
#include "lossscaler/core/group.h"
#include "prometheus/family.h"

namespace lossscaler::server {
namespace {

constexpr std::size_t kOutcomes =
    static_cast<std::size_t>(Outcome::kAborted) + 1;
constexpr std::size_t kDecisionReasons =
    static_cast<std::size_t>(DecisionReason::kNewAttempt) + 1;

// From a vote that decides at once to the default step_timeout, 10 min.
const prometheus::Histogram::BucketBoundaries kWaitSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25,   0.5,     1,      2.5,   5,      10,    30,   60,    300,  600};

prometheus::Family<prometheus::Counter>& CounterFamily(
    prometheus::Registry* registry, const std::string& name,
    const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
}

prometheus::Family<prometheus::Gauge>& KeptGaugeFamily(
    prometheus::Registry* registry, const std::string& name,
    const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry);
}

double Seconds(absl::Time time) {
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

// What one session adds to the gauges.
struct Population {
  int solo_sessions = 0;
  int group_sessions = 0;
  int pending_workers = 0;
  int active_workers = 0;
};

Population PopulationOf(const SessionState* state) {
  Population population;
  if (state == nullptr) return population;
  if (!state->group.has_value()) {
    population.solo_sessions = 1;
    return population;
  }
  population.group_sessions = 1;
  for (const Member& member : state->group->members) {
    if (member.state == MemberState::kPending) ++population.pending_workers;
    if (member.state == MemberState::kActive) ++population.active_workers;
  }
  return population;
}

}  // namespace

SessionMetrics::SessionMetrics(prometheus::Registry* registry,
                               SessionSeries* series)
    : series_(series),
      decisions_(
          &CounterFamily(registry, "lossscaler_decisions_total",
                         "Decisions, by outcome and reason."),
          kOutcomes, kDecisionReasons,
          [](std::size_t outcome, std::size_t reason) {
            return prometheus::Labels{
                {"outcome",
                 std::string(OutcomeName(static_cast<Outcome>(outcome)))},
                {"reason", std::string(DecisionReasonName(
                               static_cast<DecisionReason>(reason)))}};
          }),
      floored_(CounterFamily(registry, "lossscaler_decisions_floored_total",
                             "Decisions that would have made the scale smaller "
                             "than it may be.")
                   .Add({})),
      saturated_(CounterFamily(registry, "lossscaler_decisions_saturated_total",
                               "Decisions that would have made the scale "
                               "larger than it may be.")
                     .Add({})),
      degraded_(CounterFamily(registry, "lossscaler_decisions_degraded_total",
                              "Decisions after which their session was "
                              "degraded: too many skips in a row, or an "
                              "overflow at the smallest scale.")
                    .Add({})),
      last_decision_(KeptGaugeFamily(
                         registry, "lossscaler_last_decision_timestamp_seconds",
                         "Unix time of the last decision of any session in "
                         "seconds; 0: none since the server started.")
                         .Add({})),
      decision_wait_(prometheus::BuildHistogram()
                         .Name("lossscaler_decision_wait_seconds")
                         .Help("Seconds from the arrival of a vote to its "
                               "decision; votes that got none are left out.")
                         .Register(*registry)
                         .Add({}, kWaitSeconds)),
      waiting_votes_(KeptGaugeFamily(registry, "lossscaler_waiting_votes",
                                     "Votes that wait for their answer.")
                         .Add({})),
      sessions_(KeptGaugeFamily(registry, "lossscaler_sessions",
                                "Sessions that exist, by kind.")),
      solo_sessions_(sessions_.Add({{"kind", "solo"}})),
      group_sessions_(sessions_.Add({{"kind", "group"}})),
      workers_(
          KeptGaugeFamily(registry, "lossscaler_workers",
                          "Live workers of all group sessions, by state.")),
      pending_workers_(workers_.Add({{"state", "pending"}})),
      active_workers_(workers_.Add({{"state", "active"}})),
      joined_(CounterFamily(registry, "lossscaler_workers_joined_total",
                            "Workers that joined a group session.")
                  .Add({})),
      left_(CounterFamily(registry, "lossscaler_workers_left_total",
                          "Workers that left their group session.")
                .Add({})),
      expired_(CounterFamily(registry, "lossscaler_lease_expiries_total",
                             "Workers lost because their lease expired.")
                   .Add({})),
      replaced_(CounterFamily(registry, "lossscaler_workers_replaced_total",
                              "Workers replaced by a successor of their name "
                              "or by a new attempt of their job.")
                    .Add({})),
      unscaled_bytes_(
          CounterFamily(registry, "lossscaler_unscale_bytes_total",
                        "Bytes of gradients that were received to be unscaled.")
              .Add({})),
      unscaled_elements_(
          CounterFamily(registry, "lossscaler_unscale_elements_total",
                        "Elements of gradients that were unscaled.")
              .Add({})),
      non_finite_(CounterFamily(registry, "lossscaler_non_finite_values_total",
                                "Unscaled elements that were NaN or "
                                "infinite, by kind.")),
      nans_(non_finite_.Add({{"kind", "nan"}})),
      infinities_(non_finite_.Add({{"kind", "inf"}})) {
  // What every session does. A rate needs a zero to start from.
  for (const auto& [outcome, reason] :
       {std::pair(Outcome::kApply, DecisionReason::kFinite),
        std::pair(Outcome::kSkipOverflow, DecisionReason::kOverflow),
        std::pair(Outcome::kSkip, DecisionReason::kVotedSkip),
        std::pair(Outcome::kSkip, DecisionReason::kTimeout),
        std::pair(Outcome::kSkip, DecisionReason::kWorkerLost)}) {
    decisions_.At(static_cast<std::size_t>(outcome),
                  static_cast<std::size_t>(reason));
  }
}

void SessionMetrics::CountPopulation(const SessionState* before,
                                     const SessionState* after) {
  const Population was = PopulationOf(before);
  const Population is = PopulationOf(after);
  // In one step each: nobody sees a session that is neither before nor after.
  const auto move = [](prometheus::Gauge& gauge, int from, int to) {
    if (from != to) gauge.Increment(to - from);
  };
  move(solo_sessions_, was.solo_sessions, is.solo_sessions);
  move(group_sessions_, was.group_sessions, is.group_sessions);
  move(pending_workers_, was.pending_workers, is.pending_workers);
  move(active_workers_, was.active_workers, is.active_workers);
}

void SessionMetrics::CountDecision(const SessionState& after,
                                   const Decision& decision) {
  decisions_
      .At(static_cast<std::size_t>(decision.outcome),
          static_cast<std::size_t>(decision.reason))
      .Increment();
  if (decision.floored) floored_.Increment();
  if (decision.saturated) saturated_.Increment();
  if (DegradedBy(after, &decision).has_value()) degraded_.Increment();
  last_decision_.Set(Seconds(decision.decide_time));
}

void SessionMetrics::OnChange(const SessionChange& change) {
  CountPopulation(change.before, change.after);
  if (change.after != nullptr && change.decision != nullptr) {
    CountDecision(*change.after, *change.decision);
  }
  for (const WorkerChange& worker : change.workers) {
    switch (worker.kind) {
      case WorkerChange::Kind::kJoined:
        joined_.Increment();
        break;
      case WorkerChange::Kind::kLeft:
        left_.Increment();
        break;
      case WorkerChange::Kind::kExpired:
        expired_.Increment();
        break;
      case WorkerChange::Kind::kReplaced:
        replaced_.Increment();
        break;
      case WorkerChange::Kind::kActivated:
      case WorkerChange::Kind::kEvicted:
        break;
    }
  }
  if (series_ != nullptr) series_->OnChange(change);
}

void SessionMetrics::OnVote() { waiting_votes_.Increment(); }

void SessionMetrics::OnVoteAnswered(absl::Duration waited, bool decided) {
  waiting_votes_.Decrement();
  // What is refused at once would hide how long the others wait.
  if (decided) decision_wait_.Observe(absl::ToDoubleSeconds(waited));
}

void SessionMetrics::OnUnscaled(std::int64_t bytes,
                                const UnscaleVerdict& verdict) {
  unscaled_bytes_.Increment(static_cast<double>(bytes));
  unscaled_elements_.Increment(static_cast<double>(verdict.element_count));
  if (!verdict.overflow()) return;
  nans_.Increment(static_cast<double>(verdict.nan_count));
  infinities_.Increment(static_cast<double>(verdict.positive_infinity_count +
                                            verdict.negative_infinity_count));
}

}  // namespace lossscaler::server
