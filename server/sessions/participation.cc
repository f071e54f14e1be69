// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/participation.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {
namespace {

// Whether an error concerns the worker, rather than one message of it.
bool EndsMembership(const absl::Status& status) {
  const std::optional<Reason> reason = ReasonOf(status);
  return reason == Reason::kFenced || reason == Reason::kWrongKind ||
         reason == Reason::kSessionNotFound;
}

// Whether a checkpoint was refused for what it is.
bool RefusesCheckpoint(const absl::Status& status) {
  return !EndsMembership(status) && ReasonOf(status) != Reason::kDraining &&
         ReasonOf(status) != Reason::kStoreUnavailable;
}

}  // namespace

void Participation::Start() {
  participants_->Expect(shared_from_this());
  Run();
}

void Participation::TakeOpen(absl::StatusOr<std::shared_ptr<Session>> session,
                             absl::StatusOr<WorkerRef> worker) {
  if (!TakeMessage(/*open=*/true)) return;
  participants_->Opening(shared_from_this());
  if (!session.ok()) return End(session.status());
  if (!worker.ok()) return End(worker.status());
  session_ = *std::move(session);
  worker_ = *std::move(worker);
  session_->KeepAlive(worker_, std::nullopt,
                      [self = shared_from_this()](
                          const absl::StatusOr<Membership>& membership) {
                        if (!membership.ok()) {
                          return self->End(membership.status());
                        }
                        self->Follow();
                      });
}

void Participation::Follow() {
  const std::shared_ptr<Participation> self = shared_from_this();
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    seated_ = true;
  }
  if (const std::shared_ptr<Participation> former =
          participants_->Seat(session_.get(), worker_.incarnation, self)) {
    former->End(absl::CancelledError(
        "the worker has opened another stream, which took the place of this "
        "one"));
  }
  bool ended;
  {
    MutexLock lock(&mutex_);
    ended = end_.has_value();
  }
  if (ended) {
    return participants_->Leave(session_.get(), worker_.incarnation, this);
  }
  PendingCall follow = session_->Follow(
      worker_,
      [self](const absl::StatusOr<Membership>& news) { self->OnNews(news); });
  {
    MutexLock lock(&mutex_);
    if (!end_) follow_ = std::exchange(follow, {});
  }
  follow.Cancel();
}

void Participation::OnNews(const absl::StatusOr<Membership>& news) {
  if (!news.ok()) return End(news.status());
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    if (phase_ == Phase::kOpening) {
      phase_ = Phase::kOpen;
      queue_.push_back(Opened{*news});
    } else {
      std::erase_if(queue_, [](const Answer& answer) {
        return std::holds_alternative<Changed>(answer);
      });
      queue_.push_back(Changed{*news});
    }
  }
  Run();
}

void Participation::TakeHeartbeat(
    std::int64_t sequence,
    absl::StatusOr<std::optional<Checkpoint>> checkpoint) {
  if (!TakeMessage(/*open=*/false)) return;
  if (!checkpoint.ok() || !checkpoint->has_value()) {
    AnswerHeartbeat(sequence, checkpoint.status());
    return Run();
  }
  session_->KeepAlive(
      worker_, *std::move(checkpoint),
      [self = shared_from_this(),
       sequence](const absl::StatusOr<Membership>& membership) {
        if (membership.ok()) {
          self->Enqueue(Beat{.sequence = sequence, .membership = *membership});
        } else if (RefusesCheckpoint(membership.status())) {
          self->AnswerHeartbeat(sequence, membership.status());
        } else {
          self->End(membership.status());
        }
      });
  Run();
}

void Participation::AnswerHeartbeat(std::int64_t sequence,
                                    const absl::Status& error) {
  session_->KeepAlive(
      worker_, std::nullopt,
      [self = shared_from_this(), sequence,
       error](const absl::StatusOr<Membership>& membership) {
        if (!membership.ok()) return self->End(membership.status());
        self->Enqueue(Beat{
            .sequence = sequence, .membership = *membership, .error = error});
      });
}

void Participation::TakeVote(std::int64_t sequence,
                             std::optional<std::int64_t> step,
                             absl::StatusOr<Vote> vote) {
  if (!TakeMessage(/*open=*/false)) return;
  if (!vote.ok()) {
    // A sign of life, all the same.
    session_->KeepAlive(
        worker_, std::nullopt,
        [self = shared_from_this(), sequence,
         error = vote.status()](const absl::StatusOr<Membership>& membership) {
          if (!membership.ok()) return self->End(membership.status());
          self->Enqueue(Voted{.sequence = sequence, .answer = error});
        });
    return Run();
  }
  PendingCall former;
  std::int64_t ticket;
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    // This message takes the place of the vote that waits, whose answer is
    // owed from now on.
    if (ticket_ == 0) --owed_;
    former = std::exchange(vote_, {});
    ticket = ticket_ = ++last_ticket_;
  }
  former.Cancel();
  PendingCall call =
      session_->CastVote(worker_, step, *std::move(vote),
                         [self = shared_from_this(), ticket,
                          sequence](absl::StatusOr<UpdateAnswer> answer) {
                           self->OnVoted(ticket, sequence, std::move(answer));
                         });
  {
    MutexLock lock(&mutex_);
    if (ticket_ == ticket && !end_) vote_ = std::exchange(call, {});
  }
  // Of a vote that has been answered it cancels nothing.
  call.Cancel();
  Run();
}

void Participation::OnVoted(std::int64_t ticket, std::int64_t sequence,
                            absl::StatusOr<UpdateAnswer> answer) {
  if (EndsMembership(answer.status())) return End(answer.status());
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    if (ticket_ == ticket) {
      ticket_ = 0;
      vote_ = {};
      ++owed_;
    }
  }
  Enqueue(Voted{.sequence = sequence, .answer = std::move(answer)});
}

void Participation::TakeEmpty() {
  {
    MutexLock lock(&mutex_);
    reading_ = false;
  }
  End(MakeError(Reason::kEmptyMessage,
                "a message of the stream is empty; set open, heartbeat or "
                "vote"));
}

void Participation::TakeEnd() {
  bool opened;
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    half_closed_ = true;
    opened = phase_ != Phase::kNew;
  }
  if (opened) return Run();
  End(MakeError(Reason::kChunkBeforeOpen,
                "the stream was closed before `open`; send `open` first"));
}

bool Participation::TakeMessage(bool open) {
  {
    MutexLock lock(&mutex_);
    reading_ = false;
    if (end_) return false;
    if (open && phase_ == Phase::kNew) {
      phase_ = Phase::kOpening;
      return true;
    }
    if (!open && phase_ == Phase::kOpen) {
      ++owed_;
      return true;
    }
  }
  if (open) {
    End(MakeError(Reason::kOpenedTwice,
                  "the stream was opened twice; send `open` once, first"));
  } else {
    End(MakeError(Reason::kChunkBeforeOpen,
                  "a message came before `open`; send `open` first"));
  }
  return false;
}

void Participation::Written(bool ok) {
  if (!ok) Abandon();
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (writing_owed_) --owed_;
  }
  Run();
}

void Participation::Enqueue(Answer answer) {
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    queue_.push_back(std::move(answer));
  }
  Run();
}

void Participation::End(const absl::Status& status) {
  PendingCall vote;
  PendingCall follow;
  bool opened;
  bool seated;
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    end_ = status;
    opened = phase_ != Phase::kNew;
    vote = std::exchange(vote_, {});
    follow = std::exchange(follow_, {});
    seated = seated_;
  }
  vote.Cancel();
  follow.Cancel();
  if (!opened) participants_->Opening(shared_from_this());
  if (seated) {
    participants_->Leave(session_.get(), worker_.incarnation, this);
  }
  Run();
}

void Participation::Abandon() {
  End(absl::CancelledError("the client has gone away"));
  {
    MutexLock lock(&mutex_);
    queue_.clear();
  }
  Run();
}

Participation::Idleness Participation::LookForIdleness() {
  MutexLock lock(&mutex_);
  if (finished_) return Idleness::kNone;
  if (phase_ == Phase::kNew) return Idleness::kNotOpened;
  const bool same = writing_ && writes_ == writes_seen_;
  writes_seen_ = writes_;
  return same ? Idleness::kNotTaken : Idleness::kNone;
}

bool Participation::CanRead() const {
  return !reading_ && !half_closed_ && !end_ && phase_ != Phase::kOpening &&
         owed_ < kMaxOwed;
}

bool Participation::Owing() const {
  return phase_ == Phase::kOpening || owed_ > 0 || ticket_ != 0 || writing_ ||
         !queue_.empty();
}

void Participation::Run() {
  // The transport may let go of the participation in Finish().
  const std::shared_ptr<Participation> self = shared_from_this();
  {
    MutexLock lock(&mutex_);
    if (running_) return;
    running_ = true;
  }
  while (true) {
    std::optional<Answer> answer;
    std::optional<absl::Status> end;
    bool half_closed = false;
    {
      MutexLock lock(&mutex_);
      if (!writing_ && !queue_.empty()) {
        answer = std::move(queue_.front());
        queue_.pop_front();
        writing_ = true;
        writing_owed_ = std::holds_alternative<Beat>(*answer) ||
                        std::holds_alternative<Voted>(*answer);
        ++writes_;
      } else if (CanRead()) {
        reading_ = true;
      } else if (half_closed_ && !end_ && !Owing()) {
        half_closed = true;
      } else if (end_ && !writing_ && !finished_) {
        finished_ = true;
        end = end_;
      } else {
        running_ = false;
        return;
      }
    }
    if (end) return transport_->Finish(*end);
    if (half_closed) {
      End(absl::OkStatus());
    } else if (answer) {
      transport_->StartWrite(*answer);
    } else {
      transport_->StartRead();
    }
  }
}

}  // namespace lossscaler::server
