// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// EventLog: writes what happens in sessions, and calls that end, into the log.
// The table in section "Log" of server/README.md has the events; clients can
// cause them, so all go through LimitedLog().
//
// What a field names is the same in every event. Absent ones are left out.
//
//   session, uid   the session
//   step, epoch    where it stands then; of a decision, the step that it ends
//   worker, incarnation
//   outcome, reason, scale_before, scale_after   of a decision
//   overflow, lost, evicted   names of the workers that caused it, at most
//                  kWorkersShown; and how many more there are in
//                  overflow_more, lost_more, evicted_more
//   method, code, reason, caller, peer, call_id, took (seconds)   of a call
//
// Resume tokens, bearer tokens and checkpoints are never logged.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_OPS_EVENT_LOG_H_
#define LOSSSCALER_SERVER_OPS_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ops/call_record.h"
#include "ops/log.h"
#include "sessions/session_observer.h"

namespace lossscaler::server {

class EventLog : public CallObserver, public SessionObserver {
 public:
  static constexpr std::size_t kWorkersShown = 8;

  void OnCallEnd(const CallRecord& call) override;

  void OnChange(const SessionChange& change) override;
  void OnVote() override {}
  void OnVoteAnswered(absl::Duration /*waited*/, bool /*decided*/) override {}
  void OnUnscaled(std::int64_t /*bytes*/,
                  const UnscaleVerdict& /*verdict*/) override {}
};

// How much a failed call matters to who runs the server: warning if it may not
// or a limit refused it, error if the server itself is at fault, debug if it
// belongs to the normal life of sessions, otherwise info: the client is wrong.
LogLevel LevelOfFailure(const absl::Status& status);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_EVENT_LOG_H_
