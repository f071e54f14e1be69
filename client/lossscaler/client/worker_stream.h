// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a Connection says and hears of the workers of a group session.
//
// A trainer uses WorkerSession (worker_session.h), which does all of this by
// itself. These are its parts, for tests and for other schedulers of workers.

#ifndef LOSSSCALER_CLIENT_WORKER_STREAM_H_
#define LOSSSCALER_CLIENT_WORKER_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/membership.h"

namespace lossscaler {

// Fields as in the proto's JoinSessionResponse.
struct JoinAnswer {
  std::int64_t incarnation = 0;
  std::string resume_token;
  absl::Duration lease_ttl;
  Membership membership;
  std::optional<Decision> last_decision;
  std::string session_uid;
};

// What a worker's stream has to say. Called one at a time, from any thread, or
// by Poll() of a stream that needs polling; may call the stream, but must not
// wait for anything.
class WorkerStreamEvents {
 public:
  virtual ~WorkerStreamEvents() = default;

  // The server has taken the stream: the first event, if it comes.
  virtual void OnOpened(const Membership& membership) = 0;
  // Something has changed, unasked.
  virtual void OnChanged(const Membership& membership) = 0;
  // Answers the heartbeat of that number. `refused` is what was wrong with its
  // checkpoint; the lease is renewed all the same.
  virtual void OnHeartbeat(std::int64_t sequence, const Membership& membership,
                           const absl::Status& refused) = 0;
  // Answers the vote of that number. An error concerns only this vote.
  virtual void OnVote(std::int64_t sequence, absl::StatusOr<Decision> answer,
                      const std::optional<Current>& current) = 0;
  // The stream has ended: the last event, always. (A stream that needs polling
  // says it, as everything, only if it is polled.)
  virtual void OnClosed(const absl::Status& status) = 0;
};

// One stream of a worker (the RPC Participate). What is sent after its end is
// dropped. Dropping the last reference cancels it.
//
// Thread safety: any thread, at any time, but Poll() by one at a time. No call
// but Poll() waits, and none calls an event; nor does the destructor.
class WorkerStream {
 public:
  virtual ~WorkerStream() = default;

  // Whether it has no thread of its own: its events come out of Poll() only.
  // Otherwise the two calls below do nothing, and are not made.
  virtual bool needs_polling() const { return false; }
  // Waits for an event and calls it on this thread. Returns after one, when it
  // is interrupted, or after that long; it may also return early.
  virtual void Poll(absl::Duration at_most) { static_cast<void>(at_most); }
  // A Poll() under way returns soon; if there is none, the next one does.
  virtual void Interrupt() {}

  virtual void SendHeartbeat(std::int64_t sequence,
                             const std::optional<Checkpoint>& checkpoint) = 0;
  virtual void SendVote(std::int64_t sequence, std::int64_t step,
                        const Vote& vote) = 0;
  virtual void Cancel() = 0;
};

struct ListDecisionsCall {
  // 0: the server's default.
  int page_size = 0;
  // next_page_token of the page before.
  std::string page_token;
  // Only the decision of this step; only those in which a vote named this
  // iteration.
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> iteration;
};

struct DecisionPage {
  // Newest first.
  std::vector<Decision> decisions;
  // Empty on the last page.
  std::string next_page_token;
};

struct WatchCall {
  // The first decision to see: last seen + 1, 1 for all that are kept; 0: the
  // next one that falls. The first one seen may be later, and steps may be
  // missing between two: what the journal has forgotten, and the numbers that a
  // session leaves out after decisions may have been lost.
  std::int64_t from_step = 0;
};

}  // namespace lossscaler

#endif  // LOSSSCALER_CLIENT_WORKER_STREAM_H_
