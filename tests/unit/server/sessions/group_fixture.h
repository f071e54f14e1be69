// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A registry with one group session, a store that fails when told to, and
// clocks that stand still until a test moves them.

#ifndef LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_GROUP_FIXTURE_H_
#define LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_GROUP_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/coordinator.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group.h"
#include "sessions/registry.h"
#include "sessions/session.h"
#include "store/memory_store.h"
#include "testing/caught.h"
#include "testing/faulty_store.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"

namespace lossscaler::server {

constexpr absl::Duration kTtl = absl::Seconds(30);
constexpr absl::Duration kStepTimeout = absl::Seconds(60);
constexpr absl::Duration kRetryDelay = absl::Milliseconds(1500);

class GroupFixture : public ::testing::Test {
 protected:
  using Fault = ::lossscaler::testing::FaultyStore::Fault;
  template <typename T>
  using Caught = ::lossscaler::testing::Caught<absl::StatusOr<T>>;
  using Answers = Caught<UpdateAnswer>;

  // Not started: no registry has been loaded.
  GroupFixture() { Restart(); }

  // A server that starts on what the store holds. The one before is gone with
  // everything that was only in its memory.
  void Restart() {
    session_.reset();
    Limits limits;
    limits.retry_delay = kRetryDelay;
    registry_ = std::make_unique<Registry>(
        &store_, limits,
        Registry::World{
            .now = [this] { return wall_; },
            .monotonic = [this] { return monotonic_; },
            .new_token = [this] { return absl::StrCat("token-", ++tokens_); },
            .observers = observers_,
            .alarm_thread = false});
    ASSERT_THAT(registry_->Load(), ::lossscaler::testing::IsOk());
    const auto found = registry_->Find("run", "");
    if (found.ok()) session_ = *found;
  }

  static GroupConfig GroupOf(std::int64_t workers) {
    GroupConfig config;
    config.min_workers = config.max_workers = workers;
    config.lease_ttl = kTtl;
    config.step_timeout = kStepTimeout;
    return config;
  }

  static Registry::CreateRequest Request(const GroupConfig& group) {
    return {.name = "run",
            .config = ::lossscaler::testing::GoldenScaler(),
            .group = group};
  }

  void Create(const GroupConfig& group) {
    Caught<Registry::Created> created;
    registry_->Create(Request(group), created.Callback());
    ASSERT_EQ(created.size(), 1u);
    ASSERT_THAT(created.at(0), ::lossscaler::testing::IsOk());
    session_ = created.at(0)->session;
  }

  absl::StatusOr<JoinAnswer> Join(const JoinEvent& event) {
    Caught<JoinAnswer> caught;
    session_->Join(event, caught.Callback());
    EXPECT_EQ(caught.size(), 1u);
    return caught.at(0);
  }
  WorkerRef MustJoin(const std::string& worker) {
    const absl::StatusOr<JoinAnswer> joined =
        Join({.worker = worker, .request_id = absl::StrCat("join-", worker)});
    EXPECT_THAT(joined, ::lossscaler::testing::IsOk());
    return {worker, joined.ok() ? joined->incarnation : 0};
  }
  // A group of that many workers, all of them in: w0, w1, ...
  std::vector<WorkerRef> Group(std::int64_t workers) {
    Create(GroupOf(workers));
    std::vector<WorkerRef> all;
    for (std::int64_t i = 0; i < workers; ++i) {
      all.push_back(MustJoin(absl::StrCat("w", i)));
    }
    return all;
  }

  absl::StatusOr<Membership> KeepAlive(
      const WorkerRef& worker,
      std::optional<Checkpoint> checkpoint = std::nullopt) {
    Caught<Membership> caught;
    session_->KeepAlive(worker, std::move(checkpoint), caught.Callback());
    EXPECT_EQ(caught.size(), 1u);
    return caught.at(0);
  }
  absl::Status Leave(const WorkerRef& worker) {
    std::vector<absl::Status> answers;
    session_->Leave(worker, [&](absl::Status s) { answers.push_back(s); });
    EXPECT_EQ(answers.size(), 1u);
    return answers.at(0);
  }

  // A vote as a worker casts it that stands where the session stands.
  Vote Suitable(Verdict verdict) const {
    const SessionState state = session_->Snapshot()->state;
    Vote vote;
    vote.verdict = verdict;
    if (verdict == Verdict::kAbstain) return vote;
    vote.scale_used = state.scaler.scale();
    vote.base_session_uid = state.base_session_uid();
    vote.base = state.base;
    return vote;
  }
  PendingCall Cast(const WorkerRef& worker, Verdict verdict, Answers* answers) {
    return session_->CastVote(worker, Step(), Suitable(verdict),
                              answers->Callback());
  }
  // A vote that is answered at once.
  absl::StatusOr<UpdateAnswer> Answered(const WorkerRef& worker,
                                        std::int64_t step, const Vote& vote) {
    Answers answers;
    session_->CastVote(worker, step, vote, answers.Callback());
    EXPECT_EQ(answers.size(), 1u);
    if (answers.size() != 1) return absl::InternalError("no answer");
    return answers.at(0);
  }
  // Every worker votes FINITE; the decision that all are told, with its votes.
  Decision Decide(const std::vector<WorkerRef>& workers) {
    std::vector<std::unique_ptr<Answers>> answers;
    for (const WorkerRef& worker : workers) {
      answers.push_back(std::make_unique<Answers>());
      Cast(worker, Verdict::kFinite, answers.back().get());
    }
    const Decision decision = Last();
    for (const auto& one : answers) {
      EXPECT_EQ(one->size(), 1u);
      EXPECT_THAT(one->at(0), ::lossscaler::testing::IsOk());
      EXPECT_EQ(one->at(0)->decision, WithoutVotes(decision));
    }
    return decision;
  }

  // The last decision, with its votes.
  Decision Last() const {
    const std::optional<SessionSnapshot> snapshot = session_->Snapshot();
    EXPECT_TRUE(snapshot && snapshot->last_decision);
    return snapshot->last_decision.value_or(Decision());
  }

  SessionSnapshot Look() {
    Caught<SessionSnapshot> caught;
    session_->Look(caught.Callback());
    EXPECT_EQ(caught.size(), 1u);
    EXPECT_THAT(caught.at(0), ::lossscaler::testing::IsOk());
    return *caught.at(0);
  }
  std::int64_t Step() const { return session_->Snapshot()->state.step; }

  // Time passes on both clocks, and whoever waits for it is woken when it has
  // come: the server does not stand still.
  void Pass(absl::Duration duration) {
    constexpr absl::Duration kTick = absl::Milliseconds(500);
    while (duration > absl::ZeroDuration()) {
      const absl::Duration step = std::min(duration, kTick);
      Jump(step);
      registry_->RingDue();
      duration -= step;
    }
  }
  // The same while the server stands still.
  void Jump(absl::Duration duration) {
    monotonic_ += duration;
    wall_ += duration;
  }

  absl::Time monotonic_ = absl::FromUnixSeconds(5'000);
  absl::Time wall_ = absl::FromUnixSeconds(1'800'000'000);
  int tokens_ = 0;
  // Of the registry that starts next.
  std::vector<SessionObserver*> observers_;
  MemoryStore memory_;
  ::lossscaler::testing::FaultyStore store_{&memory_};
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<Session> session_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_TESTS_UNIT_SERVER_SESSIONS_GROUP_FIXTURE_H_
