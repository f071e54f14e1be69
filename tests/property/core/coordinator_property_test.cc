// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The rules of a group under random schedules of everything that may go wrong:
// lost, doubled and reordered messages; workers that die, freeze, leave, and
// come back with and without token, from whatever checkpoint, alone or as a new
// attempt; RestoreSession; a server killed before and after any write. What
// must hold is in group_rules.cc, simulated_server.cc and simulated_worker.cc.
//
// RapidCheck prints the seed of a failure, and repeats it with
// RC_PARAMS="reproduce=..."; RC_PARAMS="max_success=10000" runs more schedules.

#include <cstdint>

#include "gtest/gtest.h"
#include "property/core/group_simulation.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace lossscaler::simulation {
namespace {

// After the last fault: enough for many steps, leases and timeouts.
constexpr int kQuietEvents = 6000;

RC_GTEST_PROP(CoordinatorProperty, EveryScheduleKeepsTheRulesAndGetsOn, ()) {
  const auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  const int events = *rc::gen::inRange(0, 1500);
  GroupSimulation simulation(seed);
  for (int i = 0; i < events; ++i) simulation.Step();
  simulation.BecomeQuiet();
  const std::int64_t applied = simulation.applied();
  int quiet = 0;
  while (simulation.applied() < applied + 2) {
    RC_ASSERT(++quiet < kQuietEvents);
    simulation.Step();
  }
}

}  // namespace
}  // namespace lossscaler::simulation
