// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/worker_link.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/client/internal/retry_loop.h"
#include "lossscaler/client/internal/worker_errors.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// The keeper looks at the clock this often, whatever happens.
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// Without a call that waits for so long, the keeper listens to the stream.
constexpr absl::Duration kQuiet = absl::Milliseconds(100);

// A server that is short of memory for what it receives ends streams below its
// handlers, without a reason, whoever it is that sends so much.
bool ConcernsOnlyTheStream(const absl::Status& why) {
  return IsRetryable(why, Idempotency::kIdempotent) ||
         (absl::IsResourceExhausted(why) && ReasonNameOf(why).empty());
}

}  // namespace

// What one stream says, for as long as it is the present one.
class WorkerLink::Events : public WorkerStreamEvents {
 public:
  Events(std::shared_ptr<WorkerLink> link, std::int64_t generation)
      : link_(std::move(link)), generation_(generation) {}

  void OnOpened(const Membership& membership) override {
    link_->OnMembership(generation_, membership, /*opened=*/true);
  }
  void OnChanged(const Membership& membership) override {
    link_->OnMembership(generation_, membership, /*opened=*/false);
  }
  void OnHeartbeat(std::int64_t sequence, const Membership& membership,
                   const absl::Status& refused) override {
    link_->OnHeartbeat(generation_, sequence, membership, refused);
  }
  void OnVote(std::int64_t sequence, absl::StatusOr<Decision> answer,
              const std::optional<Current>& current) override {
    link_->OnVote(generation_, sequence, std::move(answer), current);
  }
  void OnClosed(const absl::Status& status) override {
    link_->OnClosed(generation_, status);
  }

 private:
  const std::shared_ptr<WorkerLink> link_;
  const std::int64_t generation_;
};

WorkerLink::WorkerLink(std::shared_ptr<Connection> connection,
                       SessionRef session, LinkOptions options)
    : connection_(std::move(connection)),
      session_(std::move(session)),
      options_(std::move(options)),
      clock_(options_.clock.get()),
      reconnect_(options_.initial_backoff, options_.max_backoff,
                 options_.random),
      votes_(session_.uid, options_.max_backoff / 2, options_.random) {}

void WorkerLink::Joined(const WorkerRef& worker, const JoinAnswer& answer,
                        absl::Time sent_at) {
  std::shared_ptr<WorkerStream> former;
  {
    MutexLock lock(&mutex_);
    worker_ = worker;
    down_ = absl::OkStatus();
    lease_.Grant(answer.lease_ttl, sent_at);
    former = DropStream();
    reconnect_.Works();
    Take(answer.membership);
    Poke();
  }
  if (former) former->Cancel();
}

absl::Time WorkerLink::Tick() {
  WorkerRef worker;
  std::int64_t generation = 0;
  std::shared_ptr<WorkerStream> silent;
  {
    MutexLock lock(&mutex_);
    const absl::Time now = clock_->Now();
    changed_.SignalAll();
    if (closed_ || !down_.ok() || opening_) return absl::InfiniteFuture();
    if (stream_) {
      const absl::Time patience =
          OldestQuestion() + lease_.heartbeat_interval();
      if (now < patience) return std::min(SendDue(now), patience);
      silent = stream_;
      Lose(absl::UnavailableError("the worker's stream has fallen silent"),
           now);
    } else if (now < reconnect_.next()) {
      return reconnect_.next();
    } else {
      worker = worker_;
      generation = ++generation_;
      opening_ = true;
      asked_at_ = now;
    }
  }
  if (silent) {
    silent->Cancel();
    return clock_->Now();
  }

  std::shared_ptr<WorkerStream> stream = connection_->Participate(
      session_, worker,
      std::make_shared<Events>(shared_from_this(), generation));
  {
    MutexLock lock(&mutex_);
    if (!closed_ && generation == generation_) {
      const absl::Time now = clock_->Now();
      opening_ = false;
      stream_ = std::move(stream);
      changed_.SignalAll();
      next_heartbeat_ = now + lease_.heartbeat_interval();
      // After an outage, whether it works is to be known soon.
      if (reconnect_.away_since()) renew_now_ = true;
      return std::min(SendDue(now), now + lease_.heartbeat_interval());
    }
  }
  // It has ended, or is not wanted any more.
  stream->Cancel();
  return clock_->Now();
}

absl::Time WorkerLink::OldestQuestion() const {
  if (asked_at_) return *asked_at_;
  return heartbeats_.empty() ? absl::InfiniteFuture()
                             : heartbeats_.begin()->second;
}

absl::Time WorkerLink::SendDue(absl::Time now) {
  std::int64_t sequence = next_sequence_;
  WorkerStream* const stream = stream_.get();
  const absl::Time next = votes_.SendDue(now, [&](const PendingVote& vote) {
    stream->SendVote(sequence, vote.step, vote.vote);
    return sequence++;
  });
  next_sequence_ = sequence;
  const std::shared_ptr<Presentation> presentation = presentation_.lock();
  const bool presents =
      presentation && presentation->sequence == 0 && !presentation->answer;
  if (presents || renew_now_ || now >= next_heartbeat_) {
    SendHeartbeat(now, presents ? presentation.get() : nullptr);
  }
  return std::min(next, next_heartbeat_);
}

void WorkerLink::SendHeartbeat(absl::Time now, Presentation* presentation) {
  renew_now_ = false;
  next_heartbeat_ = now + lease_.heartbeat_interval();
  const std::int64_t sequence = next_sequence_++;
  heartbeats_[sequence] = now;
  std::optional<Checkpoint> checkpoint;
  if (presentation != nullptr) {
    presentation->sequence = sequence;
    checkpoint = presentation->checkpoint;
  }
  stream_->SendHeartbeat(sequence, checkpoint);
}

bool WorkerLink::WaitForTick(absl::Time next) {
  MutexLock lock(&mutex_);
  while (!closed_ && !poked_) {
    const absl::Duration left = next - clock_->Now();
    if (left <= absl::ZeroDuration()) break;
    // A clock that runs while the machine sleeps may be there sooner.
    KeepListening(std::min(left, kLongestPause));
  }
  poked_ = false;
  return !closed_;
}

bool WorkerLink::NeedsPolling() const {
  return stream_ && stream_->needs_polling();
}

void WorkerLink::Poll(absl::Duration at_most) {
  std::shared_ptr<WorkerStream> stream = stream_;
  polling_ = true;
  {
    MutexUnlock unlock(&mutex_);
    stream->Poll(at_most);
    // It may have been dropped meanwhile, and go with this reference.
    stream.reset();
  }
  polling_ = false;
  changed_.SignalAll();
}

void WorkerLink::AwaitChange(absl::Duration at_most) {
  waited_ = true;
  if (NeedsPolling() && !polling_) {
    Poll(at_most);
  } else {
    changed_.WaitFor(&mutex_, at_most);
  }
}

void WorkerLink::KeepListening(absl::Duration at_most) {
  if (!NeedsPolling()) {
    tick_needed_.WaitFor(&mutex_, at_most);
  } else if (!polling_ && !waited_) {
    Poll(at_most);
  } else if (!tick_needed_.WaitFor(&mutex_, std::min(at_most, kQuiet))) {
    waited_ = polling_;
  }
}

void WorkerLink::InterruptPoll() {
  if (polling_ && stream_) stream_->Interrupt();
}

void WorkerLink::WakeWaits() {
  changed_.SignalAll();
  InterruptPoll();
}

void WorkerLink::AskForTick() {
  poked_ = true;
  tick_needed_.Signal();
}

void WorkerLink::Poke() {
  AskForTick();
  WakeWaits();
}

std::shared_ptr<PendingVote> WorkerLink::Cast(
    std::int64_t step, const Vote& vote,
    std::optional<std::int64_t> iteration) {
  auto pending = std::make_shared<PendingVote>(step, vote, iteration);
  MutexLock lock(&mutex_);
  votes_.Add(pending);
  if (stream_ && !closed_) {
    // From this thread: a vote waits for no other one.
    SendDue(clock_->Now());
  } else {
    Poke();
  }
  return pending;
}

bool WorkerLink::IsStale() const {
  MutexLock lock(&mutex_);
  return lease_.StaleAt(clock_->Now());
}

Membership WorkerLink::membership() const {
  MutexLock lock(&mutex_);
  return membership_;
}

WorkerRef WorkerLink::worker() const {
  MutexLock lock(&mutex_);
  return worker_;
}

absl::Duration WorkerLink::lease_ttl() const {
  MutexLock lock(&mutex_);
  return lease_.ttl();
}

void WorkerLink::Learn(const Current& heard) {
  MutexLock lock(&mutex_);
  TakeCurrent(heard);
  WakeWaits();
}

void WorkerLink::EndWaits() {
  MutexLock lock(&mutex_);
  closed_ = true;
  Poke();
}

void WorkerLink::Close() {
  EndWaits();
  std::shared_ptr<WorkerStream> stream;
  {
    MutexLock lock(&mutex_);
    stream = DropStream();
  }
  if (stream) stream->Cancel();
}

bool WorkerLink::MayVote() const {
  return membership_.state == MemberState::kActive &&
         membership_.phase == GroupPhase::kOpen;
}

void WorkerLink::Take(const Membership& membership) {
  const bool could_vote = MayVote();
  const Current known = membership_.current;
  membership_ = membership;
  membership_.current = known;
  TakeCurrent(membership.current);
  if (!could_vote && MayVote()) votes_.SessionOpened(clock_->Now());
}

void WorkerLink::TakeCurrent(const Current& heard) {
  // Streams may overtake each other.
  const Current& known = membership_.current;
  if (std::pair(heard.step, heard.epoch) >=
      std::pair(known.step, known.epoch)) {
    membership_.current = heard;
  }
}

void WorkerLink::Acknowledged(std::int64_t sequence, absl::Time sent_at) {
  lease_.Renew(sent_at);
  reconnect_.Works();
  votes_.Answered(sequence);
}

void WorkerLink::OnMembership(std::int64_t generation,
                              const Membership& membership, bool opened) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  Take(membership);
  if (opened && asked_at_) {
    lease_.Renew(*asked_at_);
    asked_at_.reset();
  }
  AskForTick();
  changed_.SignalAll();
}

void WorkerLink::OnHeartbeat(std::int64_t generation, std::int64_t sequence,
                             const Membership& membership,
                             const absl::Status& refused) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  const auto sent = heartbeats_.find(sequence);
  if (sent == heartbeats_.end()) return;
  Acknowledged(sequence, sent->second);
  // Answers come in order: earlier ones will not come any more.
  heartbeats_.erase(heartbeats_.begin(), std::next(sent));
  if (const std::shared_ptr<Presentation> presentation = presentation_.lock();
      presentation && presentation->sequence == sequence) {
    presentation->answer = refused;
  }
  Take(membership);
  AskForTick();
  changed_.SignalAll();
}

void WorkerLink::OnVote(std::int64_t generation, std::int64_t sequence,
                        absl::StatusOr<Decision> answer,
                        const std::optional<Current>& current) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  changed_.SignalAll();
  // It may have to be sent again.
  if (!answer.ok()) AskForTick();
  if (ReasonOf(answer.status()) == Reason::kFenced) {
    down_ = MembershipEnded(answer.status());
    return;
  }
  if (current) {
    TakeCurrent(*current);
  } else if (answer.ok()) {
    TakeCurrent({.step = answer->step + 1,
                 .scale = answer->scale_after,
                 .base = answer->base_after,
                 .base_session_uid = answer->base_after_session_uid,
                 .epoch = answer->epoch_after});
  }
  // The coordinator has not seen a vote that is refused with one of these.
  const absl::StatusCode code = answer.status().code();
  const bool seen = code != absl::StatusCode::kUnavailable &&
                    code != absl::StatusCode::kCancelled;
  const std::optional<absl::Time> sent_at =
      votes_.Answer(sequence, std::move(answer), clock_->Now());
  if (sent_at && seen) Acknowledged(sequence, *sent_at);
}

void WorkerLink::OnClosed(std::int64_t generation, const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  Lose(status.ok() ? absl::UnavailableError("the server ended the stream")
                   : status,
       clock_->Now());
  AskForTick();
  changed_.SignalAll();
}

std::shared_ptr<WorkerStream> WorkerLink::DropStream() {
  InterruptPoll();
  ++generation_;
  opening_ = false;
  asked_at_.reset();
  heartbeats_.clear();
  votes_.StreamLost();
  if (const std::shared_ptr<Presentation> presentation = presentation_.lock()) {
    presentation->sequence = 0;
  }
  return std::exchange(stream_, nullptr);
}

void WorkerLink::Lose(const absl::Status& why, absl::Time now) {
  DropStream();
  if (ConcernsOnlyTheStream(why)) {
    reconnect_.Lost(why, now);
  } else {
    down_ = MembershipEnded(why);
  }
}

}  // namespace lossscaler::internal
