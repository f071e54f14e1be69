// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Participation: the protocol of one Participate stream, without the transport.
//
// It reads one message at a time, gives it to the session, and writes what the
// session answers, one message at a time, in the order in which the answers
// came. What may pile up is bounded: no message is read while kMaxOwed answers
// wait to be written, one vote waits for its decision at a time, and of unasked
// news only the latest waits.
//
// The stream ends with the error that ends the membership, after the answers
// that were there before it, and gives up its calls of the session; votes stay.
//
// Thread safety: any thread, at any time; but each Take...() answers one
// StartRead(), and Written() one StartWrite(). Held by shared_ptr.

#ifndef LOSSSCALER_SERVER_SESSIONS_PARTICIPATION_H_
#define LOSSSCALER_SERVER_SESSIONS_PARTICIPATION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/membership.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/answers.h"
#include "sessions/participants.h"
#include "sessions/session.h"

namespace lossscaler::server {

class Participation : public std::enable_shared_from_this<Participation> {
 public:
  static constexpr int kMaxOwed = 16;

  // What is written.
  struct Opened {
    Membership membership;
  };
  struct Beat {
    std::int64_t sequence = 0;
    Membership membership;
    // Why the checkpoint was refused.
    absl::Status error;
  };
  struct Voted {
    std::int64_t sequence = 0;
    absl::StatusOr<UpdateAnswer> answer;
  };
  struct Changed {
    Membership membership;
  };
  using Answer = std::variant<Opened, Beat, Voted, Changed>;

  // Calls come one after the other, without a lock held, on any thread that
  // calls the participation or the session.
  class Transport {
   public:
    virtual ~Transport() = default;
    // Answered by one Take...().
    virtual void StartRead() = 0;
    // Answered by Written(). From `Opened` on the stream speaks for a worker
    // that was live when it was opened.
    virtual void StartWrite(const Answer& answer) = 0;
    // The last call, with no write under way; a read may be.
    virtual void Finish(const absl::Status& status) = 0;
  };

  // Both outlive the Finish().
  Participation(Participants* participants, Transport* transport)
      : participants_(participants), transport_(transport) {}

  Participation(const Participation&) = delete;
  Participation& operator=(const Participation&) = delete;

  // Begins to read, unless the server drains. Call once.
  void Start();

  // ---- A message has come. What cannot be read is an error: of `open` it ends
  // the stream, otherwise it concerns that message.

  void TakeOpen(absl::StatusOr<std::shared_ptr<Session>> session,
                absl::StatusOr<WorkerRef> worker) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeHeartbeat(std::int64_t sequence,
                     absl::StatusOr<std::optional<Checkpoint>> checkpoint)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeVote(std::int64_t sequence, std::optional<std::int64_t> step,
                absl::StatusOr<Vote> vote) ABSL_LOCKS_EXCLUDED(mutex_);
  // One that says nothing.
  void TakeEmpty() ABSL_LOCKS_EXCLUDED(mutex_);
  // No more messages come. The stream ends when nothing is owed any more.
  void TakeEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  // False: the client has gone.
  void Written(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream with `status`, after the answers that are there.
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The client has gone: nobody reads what is still to be written.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

  // Looked at from time to time by whoever ends streams on which nothing
  // moves: not opened since it began, or one message under way to a client that
  // does not take it since the last look.
  enum class Idleness { kNone, kNotOpened, kNotTaken };
  Idleness LookForIdleness() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class Phase { kNew, kOpening, kOpen };

  // Does what there is to do with the transport, unless another thread is at
  // it.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool CanRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Owing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The message that StartRead() was called for is here. False: the stream has
  // ended, or ends because it is not the one that had to come.
  bool TakeMessage(bool open) ABSL_LOCKS_EXCLUDED(mutex_);
  void Follow() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnNews(const absl::StatusOr<Membership>& news)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks where the worker stands, with what became of its checkpoint.
  void AnswerHeartbeat(std::int64_t sequence, const absl::Status& error);
  void OnVoted(std::int64_t ticket, std::int64_t sequence,
               absl::StatusOr<UpdateAnswer> answer) ABSL_LOCKS_EXCLUDED(mutex_);
  void Enqueue(Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  Participants* const participants_;
  Transport* const transport_;

  // Set by `open`, before anybody reads them.
  std::shared_ptr<Session> session_;
  WorkerRef worker_;

  Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  bool seated_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Answer> queue_ ABSL_GUARDED_BY(mutex_);
  // Messages that were read and whose answers are not written yet, without the
  // vote that waits.
  int owed_ ABSL_GUARDED_BY(mutex_) = 0;
  // The vote that waits, by a number of its own; 0: none.
  std::int64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  PendingCall vote_ ABSL_GUARDED_BY(mutex_);
  PendingCall follow_ ABSL_GUARDED_BY(mutex_);

  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // The answer under way was owed.
  bool writing_owed_ ABSL_GUARDED_BY(mutex_) = false;
  std::int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t writes_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  // How the stream ends.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_PARTICIPATION_H_
