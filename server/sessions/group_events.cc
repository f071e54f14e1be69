// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/group_events.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace lossscaler::server {
namespace {

// Whether members may have something to hear besides the decision.
bool ChangesMembership(const SessionState& before, const SessionState& after) {
  return before.epoch != after.epoch ||
         before.group->open != after.group->open ||
         before.group->members != after.group->members;
}

// While no step is open the epoch rises with every join: that is no news to
// those who wait for the session to open.
bool SameNews(const Membership& a, const Membership& b) {
  const bool open = a.phase == GroupPhase::kOpen;
  return a.state == b.state && a.phase == b.phase &&
         (!open || a.current.epoch == b.current.epoch);
}

absl::Status GivenUp(std::string_view why) {
  return absl::CancelledError(
      absl::StrCat("the call was given up ", std::string(why)));
}

}  // namespace

GroupEvents::GroupEvents(SessionState state, const DecisionLog* log,
                         const Moment& now)
    : log_(log), now_(now), coordinator_(std::move(state), now.monotonic) {}

Reaction GroupEvents::Join(const JoinEvent& event,
                           const Done<JoinAnswer>& done) {
  if (!closed_.ok()) return Refuse(done, closed_);
  absl::StatusOr<Joined> joined = coordinator_.Join(event, now_);
  if (!joined.ok()) return Refuse(done, joined.status());
  const WorkerRef worker{event.worker, joined->incarnation};
  const auto answer = [this, worker, done] {
    answers_.push_back([this, worker, done] { done(JoinAnswerOf(worker)); });
  };
  if (!joined->change) return {.answer = answer};
  return {.write = WriteOf(*joined->change),
          .answer =
              [this, change = *joined->change, answer] {
                Install(change);
                answer();
              },
          .cause = Cause::kJoin};
}

Reaction GroupEvents::Leave(const WorkerRef& worker,
                            const std::function<void(absl::Status)>& done) {
  const absl::StatusOr<Change> change = coordinator_.Leave(worker, now_);
  if (!change.ok()) return Refuse(done, change.status());
  return {.write = WriteOf(*change),
          .answer =
              [this, change = *change, done] {
                Install(change);
                done(absl::OkStatus());
              },
          .cause = Cause::kLeave};
}

Reaction GroupEvents::KeepAlive(const WorkerRef& worker,
                                std::optional<Checkpoint> checkpoint,
                                const Done<Membership>& done) {
  if (!checkpoint) {
    const absl::Status alive = coordinator_.KeepAlive(worker, now_.monotonic);
    if (!alive.ok()) return Refuse(done, alive);
    return {.answer = [this, worker, done] { done(MembershipOf(worker)); }};
  }
  const absl::StatusOr<std::optional<Change>> change =
      coordinator_.Present(worker, *std::move(checkpoint), now_);
  if (!change.ok()) return Refuse(done, change.status());
  const auto answer = [this, worker, done] {
    answers_.push_back([this, worker, done] { done(MembershipOf(worker)); });
  };
  if (!*change) return {.answer = answer};
  return {.write = WriteOf(**change),
          .answer =
              [this, change = **change, answer] {
                Install(change);
                answer();
              },
          .cause = Cause::kPresent};
}

Reaction GroupEvents::Vote(const VoteEvent& event,
                           const Done<UpdateAnswer>& done) {
  if (!closed_.ok()) return Refuse(done, closed_);
  const absl::StatusOr<VoteTaken> taken =
      coordinator_.Take(event, now_.monotonic);
  if (!taken.ok()) return Refuse(done, taken.status());
  if (*taken == VoteTaken::kWaits) {
    Wait(event, done);
    return {};
  }
  const SessionState& state = coordinator_.state();
  const absl::StatusOr<Decision> stored = log_->FindStep(state, *event.step);
  if (!stored.ok()) return Refuse(done, stored.status());
  coordinator_.NoteLateVote(*stored, event);
  if (absl::Status refused =
          MayBeTold(state.uid, *stored, event.worker, event.vote);
      !refused.ok()) {
    return Refuse(done, refused);
  }
  return {.answer = [done, answer = UpdateAnswer{
                               .decision = WithoutVotes(*stored),
                               .current = state.current()}] { done(answer); }};
}

void GroupEvents::Wait(const VoteEvent& event, const Done<UpdateAnswer>& done) {
  const std::int64_t incarnation = event.worker.incarnation;
  waiting_[event.call] = {.incarnation = incarnation, .done = done};
  std::set<CallId>& calls = waiting_by_worker_[incarnation];
  calls.insert(event.call);
  if (calls.size() <= kWaitingPerWorker) return;
  const CallId oldest = *calls.begin();
  coordinator_.Forget(oldest);
  Answer({{oldest, GivenUp("for later ones of the same worker")}}, {});
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
  const absl::Status cancelled = GivenUp("by its caller");
  if (waiting_.contains(call)) {
    coordinator_.Forget(call);
    return {.answer = [this, call, cancelled] {
      Answer({{call, cancelled}}, {});
    }};
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
      coordinator_.Restore(scaler, if_epoch, request_id, now_);
  if (!change.ok()) return Refuse(done, change.status());
  return {.write = WriteOf(*change),
          .answer =
              [this, change = *change, answer] {
                Install(change);
                answer(*change.decision);
              },
          .cause = Cause::kRestore};
}

std::optional<Event> GroupEvents::TakeDue() {
  if (!closed_.ok()) return std::nullopt;
  Answer(coordinator_.DueAnswers(now_.monotonic), {});
  std::optional<Change> change = coordinator_.Due(now_);
  if (!change) return std::nullopt;
  const bool decides = change->decision.has_value();
  return Event{.react =
                   [this, change = *std::move(change)](const State&) {
                     return Reaction{
                         .write = WriteOf(change),
                         .answer = [this, change] { Install(change); },
                         .cause = Cause::kDue};
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

void GroupEvents::GiveAnswers() {
  for (const auto& answer : std::exchange(answers_, {})) answer();
}

void GroupEvents::Reset(SessionState state, const absl::Status& error) {
  Dismiss(error);
  coordinator_ = Coordinator(std::move(state), now_.monotonic);
  NotifyFollowers();
}

void GroupEvents::Close(const absl::Status& error) {
  closed_ = error;
  Dismiss(error);
  for (const auto& [call, follower] : std::exchange(followers_, {})) {
    follower.changed(error);
  }
  GiveAnswers();
}

void GroupEvents::Dismiss(const absl::Status& error) {
  Answer(coordinator_.DismissAll(error), {});
}

void GroupEvents::Complete(SessionSnapshot* snapshot) const {
  snapshot->phase = coordinator_.phase();
  snapshot->members = coordinator_.Members(now_.monotonic);
}

void GroupEvents::Install(const Change& change) {
  const bool news = ChangesMembership(coordinator_.state(), change.state);
  const std::vector<VoteAnswer> answers =
      coordinator_.Install(change, now_.monotonic);
  if (!answers.empty()) {
    Answer(answers,
           change.decision ? WithoutVotes(*change.decision) : Decision());
  }
  if (news) NotifyFollowers();
}

void GroupEvents::Answer(const std::vector<VoteAnswer>& answers,
                         const Decision& decision) {
  const Current current = coordinator_.state().current();
  for (const VoteAnswer& one : answers) {
    const auto waiting = waiting_.extract(one.call);
    const std::int64_t incarnation = waiting.mapped().incarnation;
    const auto calls = waiting_by_worker_.find(incarnation);
    calls->second.erase(one.call);
    if (calls->second.empty()) waiting_by_worker_.erase(calls);
    if (one.status.ok()) {
      waiting.mapped().done(
          UpdateAnswer{.decision = decision, .current = current});
    } else {
      waiting.mapped().done(one.status);
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
  return coordinator_.MembershipOf(worker);
}

absl::StatusOr<JoinAnswer> GroupEvents::JoinAnswerOf(
    const WorkerRef& worker) const {
  absl::StatusOr<Membership> membership = MembershipOf(worker);
  if (!membership.ok()) return membership.status();
  const Member* const member =
      FindMember(coordinator_.group().members, worker.incarnation);
  std::optional<Decision> last = log_->Last();
  if (last) last = WithoutVotes(*std::move(last));
  return JoinAnswer{.incarnation = worker.incarnation,
                    .resume_token = member->resume_token,
                    .lease_ttl = lease_ttl(),
                    .membership = *std::move(membership),
                    .last_decision = std::move(last),
                    .session_uid = coordinator_.state().uid};
}

}  // namespace lossscaler::server
