// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "testing/group_driver.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lossscaler/core/pass_over_lost.h"
#include "lossscaler/core/solo.h"

namespace lossscaler::testing {

GroupDriver::GroupDriver(const GroupConfig& config, const LossScaler& scaler) {
  SessionState state = NewSession("run", "uid", scaler, "create", now_);
  state.group = GroupState{.config = config};
  core_ = std::make_unique<Coordinator>(std::move(state), now_);
}

WorkerRef GroupDriver::Join(const std::string& worker,
                            std::optional<Checkpoint> checkpoint,
                            std::int64_t attempt) {
  absl::StatusOr<WorkerRef> joined =
      Join({.worker = worker,
            .request_id = absl::StrCat("join-", ++last_request_),
            .attempt = attempt,
            .checkpoint = std::move(checkpoint)});
  EXPECT_TRUE(joined.ok()) << joined.status();
  return joined.value_or(WorkerRef{});
}

absl::StatusOr<WorkerRef> GroupDriver::Join(const JoinEvent& event) {
  JoinEvent with_token = event;
  with_token.new_token = absl::StrCat("token-of-", event.request_id);
  Settle();
  const absl::StatusOr<Joined> joined = core_->Join(with_token, moment());
  if (!joined.ok()) return joined.status();
  if (joined->change) Write(*joined->change);
  Settle();
  return WorkerRef{event.worker, joined->incarnation};
}

absl::Status GroupDriver::Leave(const WorkerRef& worker) {
  Settle();
  const absl::StatusOr<Change> change = core_->Leave(worker, moment());
  if (!change.ok()) return change.status();
  Write(*change);
  Settle();
  return absl::OkStatus();
}

absl::Status GroupDriver::Restore(const LossScaler& scaler,
                                  std::optional<std::int64_t> if_epoch) {
  Settle();
  const absl::StatusOr<Change> change =
      core_->Restore(scaler, if_epoch, "restore", moment());
  if (!change.ok()) return change.status();
  Write(*change);
  Settle();
  return absl::OkStatus();
}

absl::Status GroupDriver::Present(const WorkerRef& worker,
                                  const Checkpoint& checkpoint) {
  Settle();
  const absl::StatusOr<std::optional<Change>> change =
      core_->Present(worker, checkpoint, moment());
  if (!change.ok()) return change.status();
  if (*change) Write(**change);
  Settle();
  return absl::OkStatus();
}

Vote GroupDriver::Suitable(Verdict verdict) const {
  Vote vote = VoteOf(verdict);
  if (verdict == Verdict::kAbstain) return vote;
  vote.scale_used = state().scaler.scale();
  vote.base = state().base;
  vote.base_session_uid = state().base_session_uid();
  return vote;
}

CallId GroupDriver::Send(const WorkerRef& worker, Verdict verdict) {
  return Send(worker, state().step, Suitable(verdict));
}

CallId GroupDriver::Send(const WorkerRef& worker, std::int64_t step,
                         const Vote& vote) {
  return Send(
      {.worker = worker, .step = step, .vote = vote, .resolved = vote.verdict});
}

CallId GroupDriver::Send(VoteEvent event) {
  const CallId call = event.call = ++last_call_;
  Settle();
  const absl::StatusOr<VoteTaken> taken = core_->Take(event, now_);
  if (!taken.ok()) {
    answers_.emplace(call, taken.status());
  } else if (*taken == VoteTaken::kDecided) {
    const Decision& decision = journal_.at(*event.step);
    core_->NoteLateVote(decision, event);
    const absl::Status told =
        MayBeTold(state().uid, decision, event.worker, event.vote);
    Answer({call, told}, decision);
  }
  Settle();
  return call;
}

const absl::StatusOr<Decision>* GroupDriver::AnswerTo(CallId call) const {
  const auto answer = answers_.find(call);
  return answer == answers_.end() ? nullptr : &answer->second;
}

void GroupDriver::Advance(absl::Duration duration,
                          const std::vector<WorkerRef>& alive) {
  const absl::Time end = now_ + duration;
  while (now_ < end) {
    now_ = std::min(end, now_ + absl::Seconds(1));
    Settle();
    for (const WorkerRef& worker : alive) {
      core_->KeepAlive(worker, now_).IgnoreError();
    }
  }
}

void GroupDriver::Restart() {
  core_ = std::make_unique<Coordinator>(state(), now_);
  Settle();
}

void GroupDriver::LosePower() {
  SessionState stored = state();
  PassOverLost(&stored, ++losses_);
  core_ = std::make_unique<Coordinator>(std::move(stored), now_);
  Settle();
}

void GroupDriver::Settle() {
  while (const std::optional<Change> change = core_->Due(moment())) {
    Write(*change);
  }
  for (const VoteAnswer& answer : core_->DueAnswers(now_)) {
    Answer(answer, Decision());
  }
}

std::pair<SessionState, std::vector<std::optional<Vote>>>
GroupDriver::Snapshot() const {
  std::vector<std::optional<Vote>> votes;
  for (const MemberView& view : core_->Members(now_)) {
    votes.push_back(view.vote);
  }
  return {state(), votes};
}

std::string GroupDriver::TokenOf(const WorkerRef& worker) const {
  return core_->Find(worker, now_)->member.resume_token;
}

void GroupDriver::Write(const Change& change) {
  EXPECT_EQ(change.state.revision, state().revision + 1);
  if (change.decision) {
    const auto [entry, fresh] =
        journal_.emplace(change.decision->step, *change.decision);
    EXPECT_TRUE(fresh) << "step " << entry->first << " is decided twice";
  }
  for (const VoteAnswer& answer : core_->Install(change, now_)) {
    Answer(answer, change.decision.value_or(Decision()));
  }
}

void GroupDriver::Answer(const VoteAnswer& answer, const Decision& decision) {
  if (answer.status.ok()) {
    answers_.emplace(answer.call, decision);
  } else {
    answers_.emplace(answer.call, answer.status);
  }
}

}  // namespace lossscaler::testing
