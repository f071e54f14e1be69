// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Sessions, decisions and writes for the tests of the stores, made by hand: a
// store knows nothing of the rules, so neither do these.

#ifndef LOSSSCALER_TESTS_UNIT_SERVER_STORE_STORE_FIXTURE_H_
#define LOSSSCALER_TESTS_UNIT_SERVER_STORE_STORE_FIXTURE_H_

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/loss_scaler.h"
#include "store/store.h"

namespace lossscaler::server {

// 2026-01-02 03:04:05.678901 UTC, and a second later for each step.
inline absl::Time TimeOfStep(std::int64_t step) {
  return absl::FromUnixMicros(1'767'323'045'678'901) + absl::Seconds(step);
}

inline LossScaler PlainScaler() { return *LossScaler::Dynamic(1024, 2, 2000); }

// As created: revision 1.
inline SessionState NewState(std::string name, std::string uid) {
  SessionState state;
  state.name = std::move(name);
  state.uid = std::move(uid);
  state.config = PlainScaler();
  state.scaler = PlainScaler();
  state.revision = 1;
  state.create_request_id = "create-" + state.uid;
  state.create_time = TimeOfStep(0);
  return state;
}

// The decision of the state's open step.
inline Decision ApplyDecision(const SessionState& state) {
  Decision decision;
  decision.step = state.step;
  decision.explanation = "every gradient was finite";
  decision.scale_before = state.scaler.scale();
  decision.scale_after = state.scaler.scale();
  decision.base_before = state.base;
  decision.base_after = state.step;
  decision.applied = state.applied + 1;
  decision.attempted = decision.applied;
  decision.votes = {
      {.verdict = Verdict::kFinite,
       .request_id = absl::StrCat(state.uid, "-vote-", state.step),
       .resolved = Verdict::kFinite}};
  decision.decide_time = TimeOfStep(state.step);
  return decision;
}

inline Write Creation(const SessionState& state) {
  return {.state = state, .decision = {}, .deletion = {}};
}

// The write that decides the open step with APPLY.
inline Write NextStep(const SessionState& before) {
  Decision decision = ApplyDecision(before);
  SessionState state = before;
  state.base = before.step;
  state.step = before.step + 1;
  state.applied = decision.applied;
  state.revision = before.revision + 1;
  return {.state = std::move(state),
          .decision = std::move(decision),
          .deletion = {}};
}

inline Write DeletionOf(const SessionState& state, std::string request_id) {
  Write write = Creation(state);
  write.state.revision = state.revision + 1;
  write.deletion = Deletion{.request_id = std::move(request_id),
                            .session = state.name,
                            .session_uid = state.uid,
                            .time = TimeOfStep(state.step)};
  return write;
}

struct Answer {
  WriteResult result;
  absl::Status status;
};

inline std::future<Answer> CommitAsync(Store* store, Write write) {
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  store->Commit(std::move(write),
                [promise](WriteResult result, absl::Status status) {
                  promise->set_value({result, std::move(status)});
                });
  return answer;
}

inline Answer Commit(Store* store, Write write) {
  return CommitAsync(store, std::move(write)).get();
}

// Commits, expecting kDone, and returns the state that is stored now.
SessionState Put(Store* store, Write write);

// Decides `steps` steps, expecting kDone of each; the state after the last.
SessionState PutSteps(Store* store, SessionState state, int steps);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_TESTS_UNIT_SERVER_STORE_STORE_FIXTURE_H_
