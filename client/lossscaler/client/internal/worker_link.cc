// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/worker_link.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/check_answer.h"
#include "lossscaler/client/internal/retry_loop.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// Of the TTL, from when a renewal was sent until the lease is stale.
constexpr double kStaleShare = 0.8;

// A waiting call looks at the clock this often, whatever happens.
constexpr absl::Duration kLongestPause = absl::Seconds(1);

// Errors of a vote that only say "not yet": the session waits for workers, or
// the worker for the session. They spend no budget.
bool IsNotYet(const absl::Status& error) {
  const std::optional<Reason> reason = ReasonOf(error);
  return reason == Reason::kSessionPaused || reason == Reason::kNotActive;
}

absl::Status Cancelled() {
  return absl::CancelledError(
      "the worker has left the session; nothing is decided for it any more");
}

// The error that ended the membership, and what to do about it.
absl::Status Explain(const absl::Status& error) {
  if (ReasonOf(error) != Reason::kFenced) return error;
  const auto metadata = MetadataOf(error);
  return MakeError(
      Reason::kFenced,
      absl::StrCat(std::string(error.message()),
                   ". Apply nothing that was not decided for this worker: keep "
                   "the gradients, call Rejoin() and ask again, or end the "
                   "process"),
      ErrorMetadata(metadata.begin(), metadata.end()));
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
      backoff_(options_.initial_backoff) {}

void WorkerLink::Joined(const WorkerRef& worker, const JoinAnswer& answer,
                        absl::Time sent_at) {
  std::shared_ptr<WorkerStream> former;
  {
    MutexLock lock(&mutex_);
    worker_ = worker;
    down_ = absl::OkStatus();
    lease_ttl_ = answer.lease_ttl;
    renewed_at_ = sent_at;
    Take(answer.membership);
    former = std::move(stream_);
    stream_.reset();
    ++generation_;
    opening_ = false;
    asked_at_.reset();
    heartbeats_.clear();
    away_since_.reset();
    next_connect_ = absl::InfinitePast();
    backoff_ = options_.initial_backoff;
    for (const auto& cast : open_votes_) cast->sent = false;
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
      const absl::Time asked =
          asked_at_ ? *asked_at_
                    : (heartbeats_.empty() ? absl::InfiniteFuture()
                                           : heartbeats_.begin()->second.at);
      if (now < asked + HeartbeatInterval()) {
        return std::min(SendDue(now), asked + HeartbeatInterval());
      }
      silent = stream_;
      Lose(absl::UnavailableError("the worker's stream has fallen silent"),
           now);
    }
    if (!silent && now < next_connect_) return next_connect_;
    if (!silent) {
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
      next_heartbeat_ = now + HeartbeatInterval();
      return std::min(SendDue(now), now + HeartbeatInterval());
    }
  }
  // It has ended, or is not wanted any more.
  stream->Cancel();
  return clock_->Now();
}

absl::Time WorkerLink::SendDue(absl::Time now) {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& cast : open_votes_) {
    if (cast->sent) continue;
    if (now < cast->send_at) {
      next = std::min(next, cast->send_at);
      continue;
    }
    cast->sent = true;
    cast->sequence = next_sequence_++;
    cast->sent_at = now;
    stream_->SendVote(cast->sequence, cast->step, cast->vote);
  }
  const bool presenting = std::any_of(
      heartbeats_.begin(), heartbeats_.end(),
      [](const auto& heartbeat) { return heartbeat.second.presents; });
  if (now >= next_heartbeat_ || renew_now_ ||
      (presenting_ && !presented_ && !presenting)) {
    SendHeartbeat(now);
  }
  return std::min(next, next_heartbeat_);
}

void WorkerLink::SendHeartbeat(absl::Time now) {
  renew_now_ = false;
  next_heartbeat_ = now + HeartbeatInterval();
  const std::int64_t sequence = next_sequence_++;
  heartbeats_[sequence] = {.at = now, .presents = presenting_.has_value()};
  stream_->SendHeartbeat(sequence, presenting_);
}

bool WorkerLink::WaitForTick(absl::Time next) {
  MutexLock lock(&mutex_);
  while (!closed_ && !poked_) {
    const absl::Duration left = next - clock_->Now();
    if (left <= absl::ZeroDuration()) break;
    // A clock that runs while the machine sleeps may be there sooner.
    changed_.WaitFor(&mutex_, std::min(left, kLongestPause));
  }
  poked_ = false;
  return !closed_;
}

void WorkerLink::Poke() {
  poked_ = true;
  changed_.SignalAll();
}

std::shared_ptr<CastVote> WorkerLink::Cast(std::int64_t step,
                                           const Vote& vote) {
  auto cast = std::make_shared<CastVote>(step, vote);
  MutexLock lock(&mutex_);
  open_votes_.push_back(cast);
  // From this thread: a vote waits for no other one.
  if (stream_ && !closed_) SendDue(clock_->Now());
  Poke();
  return cast;
}

bool WorkerLink::IsFinal(const CastVote& cast) const {
  return cast.answer && (!cast.answer->ok() || !(*cast.answer)->apply());
}

absl::StatusOr<Decision> WorkerLink::Await(CastVote* cast) {
  MutexLock lock(&mutex_);
  const absl::Time start = clock_->Now();
  absl::Time next_report = start + options_.wait_report_interval;
  AskAgain(cast);
  for (;;) {
    // What is not applied needs no lease.
    if (IsFinal(*cast)) {
      cast->told = true;
      return *cast->answer;
    }
    if (!down_.ok()) return down_;
    if (closed_) return Cancelled();
    const absl::Time now = clock_->Now();
    if (cast->answer) {
      if (!StaleAt(now)) return *cast->answer;
      if (now - start >= options_.unavailable_budget) {
        return LeaseStale(cast->step);
      }
      if (heartbeats_.empty()) {
        renew_now_ = true;
        Poke();
      }
    } else if (absl::Status spent = BudgetSpent(cast, start, now);
               !spent.ok()) {
      return spent;
    }
    Pause("Update", cast, start, &next_report);
  }
}

void WorkerLink::AskAgain(CastVote* cast) {
  // Nothing was recorded, and another worker may have loaded what this one has.
  if (!cast->told || cast->answer->ok() ||
      ReasonOf(cast->answer->status()) != Reason::kCheckpointMismatch) {
    return;
  }
  cast->told = false;
  cast->answer.reset();
  cast->sent = false;
  open_votes_.push_back(cast->shared_from_this());
  Poke();
}

bool WorkerLink::Ready(const CastVote& cast) const {
  MutexLock lock(&mutex_);
  if (IsFinal(cast) || !down_.ok() || closed_) return true;
  return cast.answer && !StaleAt(clock_->Now());
}

bool WorkerLink::TakePermit(CastVote* cast) {
  MutexLock lock(&mutex_);
  return !std::exchange(cast->permitted, true);
}

absl::StatusOr<Current> WorkerLink::AwaitOpen() {
  MutexLock lock(&mutex_);
  const absl::Time start = clock_->Now();
  absl::Time next_report = start + options_.wait_report_interval;
  for (;;) {
    if (!down_.ok()) return down_;
    if (closed_) return Cancelled();
    const absl::Time now = clock_->Now();
    if (membership_.state == MemberState::kActive &&
        membership_.phase == GroupPhase::kOpen) {
      return membership_.current;
    }
    if (membership_.phase == GroupPhase::kCheckpointMismatch) {
      return membership_.closed.ok()
                 ? MakeError(Reason::kCheckpointMismatch,
                             "the workers have loaded different checkpoints; "
                             "load one and present it, or leave")
                 : membership_.closed;
    }
    if (absl::Status spent = BudgetSpent(nullptr, start, now); !spent.ok()) {
      return spent;
    }
    Pause("Participate", nullptr, start, &next_report);
  }
}

void WorkerLink::Pause(std::string_view method, const CastVote* cast,
                       absl::Time start, absl::Time* next_report) {
  const absl::Time now = clock_->Now();
  std::optional<absl::Time> since = away_since_;
  if (!since && cast != nullptr) since = cast->failing_since;
  if (options_.on_wait && since && now >= *next_report) {
    *next_report = now + options_.wait_report_interval;
    const absl::Duration waited = now - std::max(*since, start);
    const WaitReport report{.method = method,
                            .waited = waited,
                            .budget_left = options_.unavailable_budget - waited,
                            .last_error = away_since_ ? away_ : cast->failure};
    mutex_.Unlock();
    options_.on_wait(report);
    mutex_.Lock();
    return;
  }
  changed_.WaitFor(&mutex_, kLongestPause);
}

absl::Status WorkerLink::BudgetSpent(const CastVote* cast, absl::Time start,
                                     absl::Time now) const {
  std::optional<absl::Time> since = away_since_;
  if (cast != nullptr && cast->failing_since) {
    since =
        std::min(since.value_or(absl::InfiniteFuture()), *cast->failing_since);
  }
  if (!since) return absl::OkStatus();
  if (now - std::max(*since, start) < options_.unavailable_budget) {
    return absl::OkStatus();
  }
  const absl::Status& error = away_since_ ? away_ : cast->failure;
  const std::string budget = absl::FormatDuration(options_.unavailable_budget);
  return MakeError(
      Reason::kUnavailableBudgetSpent,
      absl::StrCat("the server stayed away for unavailable_budget (", budget,
                   "); that is neither apply nor skip: keep the gradients and "
                   "ask again, or end the run. Last error: ",
                   std::string(error.message())),
      {{"unavailable_budget", budget},
       {"last_code", absl::StatusCodeToString(error.code())},
       {"last_reason", ReasonNameOf(error)}});
}

absl::Status WorkerLink::LeaseStale(std::int64_t step) const {
  const std::string ttl = absl::FormatDuration(lease_ttl_);
  return MakeError(
      Reason::kLeaseStale,
      absl::StrCat(
          "step ", step, " applies, but worker ", Quoted(worker_.worker),
          " has had no renewal of its lease (", ttl,
          ") acknowledged for too long, and another process may have its "
          "place; that is neither apply nor skip: ask again, or call Rejoin() "
          "and ask again"),
      {{"step", absl::StrCat(step)},
       {"worker", Quoted(worker_.worker)},
       {"lease_ttl", ttl}});
}

bool WorkerLink::StaleAt(absl::Time now) const {
  return now - renewed_at_ >= kStaleShare * lease_ttl_;
}

absl::Duration WorkerLink::HeartbeatInterval() const { return lease_ttl_ / 3; }

bool WorkerLink::IsStale() const {
  MutexLock lock(&mutex_);
  return StaleAt(clock_->Now());
}

absl::Status WorkerLink::Health() const {
  MutexLock lock(&mutex_);
  if (!down_.ok()) return down_;
  return closed_ ? Cancelled() : absl::OkStatus();
}

Membership WorkerLink::membership() const {
  MutexLock lock(&mutex_);
  return membership_;
}

WorkerRef WorkerLink::worker() const {
  MutexLock lock(&mutex_);
  return worker_;
}

void WorkerLink::Learn(const Current& heard) {
  MutexLock lock(&mutex_);
  TakeCurrent(heard);
  changed_.SignalAll();
}

absl::Status WorkerLink::Present(const Checkpoint& checkpoint) {
  MutexLock lock(&mutex_);
  presenting_ = checkpoint;
  presented_.reset();
  renew_now_ = true;
  Poke();
  const absl::Time start = clock_->Now();
  absl::Time next_report = start + options_.wait_report_interval;
  for (;;) {
    if (presented_) break;
    if (!down_.ok()) return down_;
    if (closed_) return Cancelled();
    if (absl::Status spent = BudgetSpent(nullptr, start, clock_->Now());
        !spent.ok()) {
      return spent;
    }
    Pause("Participate", nullptr, start, &next_report);
  }
  presenting_.reset();
  return *std::exchange(presented_, std::nullopt);
}

void WorkerLink::Close() {
  std::shared_ptr<WorkerStream> stream;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    ++generation_;
    stream = std::move(stream_);
    stream_.reset();
    changed_.SignalAll();
  }
  if (stream) stream->Cancel();
}

void WorkerLink::Take(const Membership& membership) {
  const Current known = membership_.current;
  membership_ = membership;
  membership_.current = known;
  TakeCurrent(membership.current);
}

void WorkerLink::TakeCurrent(const Current& heard) {
  // Streams may overtake each other.
  const Current& known = membership_.current;
  if (std::pair(heard.step, heard.epoch) >=
      std::pair(known.step, known.epoch)) {
    membership_.current = heard;
  }
}

void WorkerLink::Renewed(absl::Time sent_at) {
  renewed_at_ = std::max(renewed_at_, sent_at);
}

void WorkerLink::OnMembership(std::int64_t generation,
                              const Membership& membership, bool opened) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  Take(membership);
  if (opened && asked_at_) {
    Renewed(*asked_at_);
    asked_at_.reset();
    away_since_.reset();
    backoff_ = options_.initial_backoff;
  }
  Poke();
}

void WorkerLink::OnHeartbeat(std::int64_t generation, std::int64_t sequence,
                             const Membership& membership,
                             const absl::Status& refused) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  const auto sent = heartbeats_.find(sequence);
  if (sent == heartbeats_.end()) return;
  Renewed(sent->second.at);
  if (sent->second.presents && presenting_) presented_ = refused;
  // Answers come in order: earlier ones will not come any more.
  heartbeats_.erase(heartbeats_.begin(), std::next(sent));
  Take(membership);
  Poke();
}

void WorkerLink::OnVote(std::int64_t generation, std::int64_t sequence,
                        absl::StatusOr<Decision> answer,
                        const std::optional<Current>& current) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  if (current) {
    TakeCurrent(*current);
  } else if (answer.ok()) {
    TakeCurrent({.step = answer->step + 1,
                 .scale = answer->scale_after,
                 .base = answer->base_after,
                 .base_session_uid = answer->base_after_session_uid,
                 .epoch = answer->epoch_after});
  }
  for (const auto& cast : open_votes_) {
    if (!cast->sent || cast->sequence != sequence) continue;
    Renewed(cast->sent_at);
    Answer(cast.get(), std::move(answer), clock_->Now());
    break;
  }
  std::erase_if(open_votes_, [](const std::shared_ptr<CastVote>& cast) {
    return cast->answer.has_value();
  });
  Poke();
}

void WorkerLink::Answer(CastVote* cast, absl::StatusOr<Decision> answer,
                        absl::Time now) {
  if (answer.ok()) {
    if (absl::Status wrong = CheckAnswer(*answer, cast->step, cast->vote);
        !wrong.ok()) {
      answer = wrong;
    }
    cast->answer = std::move(answer);
    return;
  }
  const absl::Status& error = answer.status();
  if (ReasonOf(error) == Reason::kFenced) {
    down_ = Explain(error);
    return;
  }
  if (!IsNotYet(error) && !IsRetryable(error, Idempotency::kIdempotent)) {
    cast->answer = error;
    return;
  }
  cast->sent = false;
  const absl::Duration pause = std::max(
      options_.random() * options_.max_backoff / 2, absl::Milliseconds(1));
  cast->send_at = now + RetryDelayOf(error).value_or(pause);
  if (IsNotYet(error)) {
    cast->failing_since.reset();
  } else if (!cast->failing_since) {
    cast->failing_since = now;
  }
  cast->failure = error;
}

void WorkerLink::OnClosed(std::int64_t generation, const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (generation != generation_) return;
  Lose(status.ok() ? absl::UnavailableError("the server ended the stream")
                   : status,
       clock_->Now());
  Poke();
}

void WorkerLink::Lose(const absl::Status& why, absl::Time now) {
  stream_.reset();
  opening_ = false;
  asked_at_.reset();
  ++generation_;
  heartbeats_.clear();
  for (const auto& cast : open_votes_) cast->sent = false;
  if (!IsRetryable(why, Idempotency::kIdempotent)) {
    down_ = Explain(why);
    return;
  }
  if (!away_since_) away_since_ = now;
  away_ = why;
  next_connect_ =
      now + std::max(options_.random() * backoff_,
                     RetryDelayOf(why).value_or(absl::ZeroDuration()));
  backoff_ = std::min(2 * backoff_, options_.max_backoff);
}

}  // namespace lossscaler::internal
