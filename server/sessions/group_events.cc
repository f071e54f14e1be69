// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/group_events.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {
namespace {

// Whether members may have something to hear besides the decision.
bool ChangesMembership(const SessionState& before, const SessionState& after) {
  return before.epoch != after.epoch ||
         before.group->open != after.group->open ||
         before.group->members != after.group->members;
}

bool SameNews(const Membership& a, const Membership& b) {
  return a.state == b.state && a.phase == b.phase &&
         a.current.epoch == b.current.epoch;
}

}  // namespace

GroupEvents::GroupEvents(SessionState state, const DecisionLog* log,
                         Clock clock)
    : log_(log),
      clock_(std::move(clock)),
      coordinator_(std::move(state), clock_().monotonic) {}

Reaction GroupEvents::Join(const JoinEvent& event,
                           const Done<JoinAnswer>& done) {
  if (!closed_.ok()) return Refuse(done, closed_);
  absl::StatusOr<Joined> joined = coordinator_.Join(event, clock_());
  if (!joined.ok()) return Refuse(done, joined.status());
  const WorkerRef worker{event.worker, joined->incarnation};
  const auto settle = [this, worker, done] {
    unsettled_.push_back([this, worker, done] { done(JoinAnswerOf(worker)); });
  };
  if (!joined->change) return {.answer = settle};
  return {.write = WriteOf(*joined->change),
          .answer = [this, change = *joined->change, settle] {
            Install(change);
            settle();
          }};
}

Reaction GroupEvents::Leave(const WorkerRef& worker,
                            const std::function<void(absl::Status)>& done) {
  const absl::StatusOr<Change> change = coordinator_.Leave(worker, clock_());
  if (!change.ok()) return Refuse(done, change.status());
  return {.write = WriteOf(*change), .answer = [this, change = *change, done] {
            Install(change);
            done(absl::OkStatus());
          }};
}

Reaction GroupEvents::KeepAlive(const WorkerRef& worker,
                                std::optional<Checkpoint> checkpoint,
                                const Done<Membership>& done) {
  if (!checkpoint) {
    // That the session is closed is no error of the call: MembershipOf says it.
    const absl::Status alive =
        coordinator_.KeepAlive(worker, clock_().monotonic);
    if (ReasonOf(alive) == Reason::kFenced) return Refuse(done, alive);
    return {.answer = [this, worker, done] { done(MembershipOf(worker)); }};
  }
  const absl::StatusOr<std::optional<Change>> change =
      coordinator_.Present(worker, *std::move(checkpoint), clock_());
  if (!change.ok()) return Refuse(done, change.status());
  const auto settle = [this, worker, done] {
    unsettled_.push_back([this, worker, done] { done(MembershipOf(worker)); });
  };
  if (!*change) return {.answer = settle};
  return {.write = WriteOf(**change),
          .answer = [this, change = **change, settle] {
            Install(change);
            settle();
          }};
}

Reaction GroupEvents::Vote(const VoteEvent& event,
                           const Done<UpdateAnswer>& done) {
  if (!closed_.ok()) return Refuse(done, closed_);
  const absl::StatusOr<VoteTaken> taken =
      coordinator_.Take(event, clock_().monotonic);
  if (!taken.ok()) return Refuse(done, taken.status());
  if (*taken == VoteTaken::kWaits) {
    waiting_.emplace(event.call, done);
    return {};
  }
  const SessionState& state = coordinator_.state();
  const absl::StatusOr<Decision> stored = log_->FindStep(state, event.step);
  if (!stored.ok()) return Refuse(done, stored.status());
  coordinator_.NoteLateVote(*stored, event);
  const absl::StatusOr<Decision> answer =
      AnswerFrom(state.uid, *stored, event.worker, event.vote);
  if (!answer.ok()) return Refuse(done, answer.status());
  return {.answer = [done, answer = UpdateAnswer{.decision = *answer,
                                                 .current = state.current()}] {
    done(answer);
  }};
}

Reaction GroupEvents::Follow(CallId call, const WorkerRef& worker,
                             const Done<Membership>& changed) {
  const absl::StatusOr<Membership> now = MembershipOf(worker);
  if (now.ok()) {
    followers_.emplace(
        call, Follower{.worker = worker, .changed = changed, .last = *now});
  }
  return {.answer = [changed, now] { changed(now); }};
}

Reaction GroupEvents::Cancel(CallId call) {
  const absl::Status cancelled =
      absl::CancelledError("the call was given up by its caller");
  if (const auto waiting = waiting_.extract(call)) {
    coordinator_.Forget(call);
    return Refuse(waiting.mapped(), cancelled);
  }
  if (const auto follower = followers_.extract(call)) {
    return Refuse(follower.mapped().changed, cancelled);
  }
  return {};
}

Reaction GroupEvents::Restore(const LossScaler& scaler,
                              std::optional<std::int64_t> if_epoch,
                              const std::string& request_id,
                              const Done<RestoreAnswer>& done) {
  // The request id comes first: a repeated call must not be refused for the
  // epoch that its own first copy made.
  const absl::StatusOr<std::optional<Decision>> made =
      log_->FindRestore(coordinator_.state().uid, request_id);
  if (!made.ok()) return Refuse(done, made.status());
  const auto answer = [this, done](const Decision& decision) {
    RestoreAnswer restored{.decision = decision,
                           .snapshot = {.state = coordinator_.state(),
                                        .last_decision = log_->Last()}};
    Complete(&restored.snapshot);
    done(restored);
  };
  if (*made) return {.answer = [answer, made = **made] { answer(made); }};
  const absl::StatusOr<Change> change =
      coordinator_.Restore(scaler, if_epoch, request_id, clock_());
  if (!change.ok()) return Refuse(done, change.status());
  return {.write = WriteOf(*change),
          .answer = [this, change = *change, answer] {
            Install(change);
            answer(*change.decision);
          }};
}

std::optional<Event> GroupEvents::TakeDue() {
  if (!closed_.ok()) return std::nullopt;
  const Moment now = clock_();
  Answer(coordinator_.DueAnswers(now.monotonic));
  std::optional<Change> change = coordinator_.Due(now);
  if (!change) return std::nullopt;
  const bool decides = change->decision.has_value();
  return Event{.react =
                   [this, change = *std::move(change)](const State&) {
                     return Reaction{
                         .write = WriteOf(change),
                         .answer = [this, change] { Install(change); }};
                   },
               .fail =
                   [this, decides](const absl::Status& error) {
                     // The votes stay; the decision comes again.
                     if (decides) Dismiss(error);
                   }};
}

absl::Time GroupEvents::NextDue() const {
  return closed_.ok() ? coordinator_.NextDue() : absl::InfiniteFuture();
}

void GroupEvents::Settle() {
  for (const auto& answer : std::exchange(unsettled_, {})) answer();
}

void GroupEvents::Reset(SessionState state, const absl::Status& error) {
  Dismiss(error);
  coordinator_ = Coordinator(std::move(state), clock_().monotonic);
  NotifyFollowers();
}

void GroupEvents::Close(const absl::Status& error) {
  closed_ = error;
  Dismiss(error);
  for (const auto& [call, follower] : std::exchange(followers_, {})) {
    follower.changed(error);
  }
  Settle();
}

void GroupEvents::Dismiss(const absl::Status& error) {
  Answer(coordinator_.DismissAll(error));
}

void GroupEvents::Complete(SessionSnapshot* snapshot) const {
  snapshot->phase = coordinator_.phase();
  snapshot->members = coordinator_.Members(clock_().monotonic);
}

void GroupEvents::Install(const Change& change) {
  const bool news = ChangesMembership(coordinator_.state(), change.state);
  Answer(coordinator_.Install(change, clock_().monotonic));
  if (news) NotifyFollowers();
}

void GroupEvents::Answer(std::vector<VoteAnswer> answers) {
  const Current current = coordinator_.state().current();
  for (VoteAnswer& one : answers) {
    const auto waiting = waiting_.extract(one.call);
    if (!one.answer.ok()) {
      waiting.mapped()(one.answer.status());
    } else {
      waiting.mapped()(
          UpdateAnswer{.decision = *std::move(one.answer), .current = current});
    }
  }
}

void GroupEvents::NotifyFollowers() {
  for (auto it = followers_.begin(); it != followers_.end();) {
    Follower& follower = it->second;
    const absl::StatusOr<Membership> now = MembershipOf(follower.worker);
    if (!now.ok()) {
      follower.changed(now);
      it = followers_.erase(it);
      continue;
    }
    ++it;
    if (SameNews(*now, follower.last)) continue;
    follower.last = *now;
    follower.changed(now);
  }
}

absl::StatusOr<Membership> GroupEvents::MembershipOf(
    const WorkerRef& worker) const {
  if (!closed_.ok()) return closed_;
  const absl::StatusOr<MemberView> view =
      coordinator_.Find(worker, clock_().monotonic);
  if (!view.ok()) return view.status();
  return Membership{.state = view->member.state,
                    .phase = coordinator_.phase(),
                    .current = coordinator_.state().current(),
                    .closed = coordinator_.WhyClosed()};
}

absl::StatusOr<JoinAnswer> GroupEvents::JoinAnswerOf(
    const WorkerRef& worker) const {
  absl::StatusOr<Membership> membership = MembershipOf(worker);
  if (!membership.ok()) return membership.status();
  const absl::StatusOr<MemberView> view =
      coordinator_.Find(worker, clock_().monotonic);
  if (!view.ok()) return view.status();
  return JoinAnswer{.incarnation = worker.incarnation,
                    .resume_token = view->member.resume_token,
                    .lease_ttl = coordinator_.group().config.lease_ttl,
                    .membership = *std::move(membership),
                    .last_decision = log_->Last(),
                    .session_uid = coordinator_.state().uid};
}

}  // namespace lossscaler::server
