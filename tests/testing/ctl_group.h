// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Groups as lossscalerctl is shown them by the mock of its server.

#ifndef LOSSSCALER_TESTS_TESTING_CTL_GROUP_H_
#define LOSSSCALER_TESTS_TESTING_CTL_GROUP_H_

#include <cstdint>
#include <string>

#include "lossscaler/client/connection.h"

namespace lossscaler::ctl {

// `session` as a group that takes votes.
inline SessionInfo Group(SessionInfo session) {
  session.group = GroupConfig{.min_workers = 1, .max_workers = 4};
  session.phase = GroupPhase::kOpen;
  return session;
}

// An active worker with a fresh lease.
inline MemberView Worker(const std::string& worker, std::int64_t incarnation) {
  MemberView view;
  view.member.worker = worker;
  view.member.incarnation = incarnation;
  view.member.state = MemberState::kActive;
  view.lease_left = absl::Seconds(30);
  return view;
}

inline Vote VoteOf(const std::string& worker, std::int64_t incarnation,
                   Verdict verdict) {
  Vote vote;
  vote.worker = worker;
  vote.incarnation = incarnation;
  vote.verdict = vote.resolved = verdict;
  return vote;
}

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_TESTS_TESTING_CTL_GROUP_H_
