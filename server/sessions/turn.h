// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What one event does in its turn: the words that a session's pump and the
// events of solo and group sessions share.

#ifndef LOSSSCALER_SERVER_SESSIONS_TURN_H_
#define LOSSSCALER_SERVER_SESSIONS_TURN_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"
#include "sessions/session_observer.h"
#include "store/store.h"

namespace lossscaler::server {

template <typename T>
using Done = std::function<void(absl::StatusOr<T>)>;

// Null: there is no such session.
using State = std::shared_ptr<const SessionState>;

// What an event makes of a state: a change to write, and what is to be said
// once that is done; or nothing to write, and perhaps nothing to say yet.
struct Reaction {
  std::optional<Write> write;
  std::function<void()> answer;
  // Of the write, for observers.
  Cause cause = Cause::kVote;
};

struct Event {
  std::function<Reaction(const State&)> react;
  // Called in place of the answer if the store failed.
  std::function<void(const absl::Status&)> fail;
  // Whether it is taken although a change that came before it could not be
  // written: it writes nothing that could contradict it.
  bool needs_no_store = false;
};

inline Write WriteOf(const Change& change) {
  return {.state = change.state, .decision = change.decision};
}

template <typename Callback>
Reaction Refuse(const Callback& done, const absl::Status& error) {
  return {.answer = [done, error] { done(error); }};
}

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_TURN_H_
