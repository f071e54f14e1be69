// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Participants: which Participate stream speaks for which worker, and which
// have not said yet for whom.
//
// One for each incarnation, so that there are never more of them than live
// workers: a worker that opens another one has given up the first.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_SESSIONS_PARTICIPANTS_H_
#define LOSSSCALER_SERVER_SESSIONS_PARTICIPANTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/limits.h"

namespace lossscaler::server {

class Participation;
class Session;

class Participants {
 public:
  explicit Participants(const Limits& limits = {}) : limits_(limits) {}
  Participants(const Participants&) = delete;
  Participants& operator=(const Participants&) = delete;

  // `stream` has begun, and has not been opened until Opening(). Ended at once
  // after Drain(), and with TOO_MANY_STREAMS and RetryInfo if
  // limits.max_unopened_streams wait.
  void Expect(const std::shared_ptr<Participation>& stream)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `stream` is being opened, or has ended without.
  void Opening(const std::shared_ptr<Participation>& stream)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends with `error` the streams that have not been opened, those that come
  // later too. Sessions end the others.
  void Drain(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

  // `stream` speaks for the incarnation, which is a live member, from now on.
  // Returns the one that did, which the caller ends; null: none. The session
  // outlives the stream's stay.
  std::shared_ptr<Participation> Seat(
      const Session* session, std::int64_t incarnation,
      const std::shared_ptr<Participation>& stream) ABSL_LOCKS_EXCLUDED(mutex_);

  // `stream` has ended. Nothing happens if another one has its seat.
  void Leave(const Session* session, std::int64_t incarnation,
             const Participation* stream) ABSL_LOCKS_EXCLUDED(mutex_);

  std::int64_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Limits limits_;
  mutable Mutex mutex_;
  std::set<std::shared_ptr<Participation>> expected_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> drained_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<const Session*, std::int64_t>,
           std::shared_ptr<Participation>>
      seats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_PARTICIPANTS_H_
