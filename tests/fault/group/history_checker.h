// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The history checker: what must hold of all that the clients of one group
// session saw, whatever happened to them, to their network and to the server.
//
//  - The journal has every step once, in order; epochs never fall.
//  - Each decision that anybody saw is the journal's, field by field but for
//  the
//    votes, which workers are not told.
//  - APPLY: every vote in it is FINITE or ABSTAIN, was cast by its worker with
//    this scale, base and iteration, and at least min_workers voted or had
//    left.
//  - An OVERFLOW vote makes SKIP_OVERFLOW.
//  - Scales follow from the outcomes by the scaler's own rule; a restored one
//    is one that somebody presented.
//  - Bases follow from the outcomes; only a voter on the decision's base_before
//    applied, and only an APPLY; equal bases mean equal parameters.
//  - An incarnation votes on no step after the one at which its successor
//    joined.
//  - What one process saw rises: steps, epochs.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_TESTS_FAULT_GROUP_HISTORY_CHECKER_H_
#define LOSSSCALER_TESTS_FAULT_GROUP_HISTORY_CHECKER_H_

#include <string>
#include <vector>

#include "fault/group/history.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/v1/decision.pb.h"

namespace lossscaler::testing {

// A session, as its server tells it.
struct SessionRecord {
  std::string uid;
  LossScaler initial;
  // With PartPolicy::kAll.
  GroupConfig config;
  // Whole, oldest first.
  std::vector<v1::Decision> journal;
};

// What does not hold, one sentence each; empty: all is well.
std::vector<std::string> Violations(const SessionRecord& session,
                                    const std::vector<History>& histories);

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_FAULT_GROUP_HISTORY_CHECKER_H_
