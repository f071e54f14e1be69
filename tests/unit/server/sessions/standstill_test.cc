// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Time in which a session could take no event does not count against those who
// had sent one.

#include <cstddef>
#include <string>
#include <vector>

#include "unit/server/sessions/group_fixture.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::testing::Eq;
using ::testing::SizeIs;

class StandstillTest : public GroupFixture {
 protected:
  // Two workers are in, and a third may come.
  StandstillTest() {
    GroupConfig config = GroupOf(3);
    config.min_workers = 2;
    config.on_timeout = StragglerPolicy::kAbort;
    Create(config);
    for (const char* name : {"w0", "w1"}) all_.push_back(MustJoin(name));
  }

  // A change that the store takes its time over.
  void BeginSlowWrite() {
    store_.Hold();
    session_->Join({.worker = "w2", .request_id = "join-w2"},
                   joined_.Callback());
  }

  std::vector<WorkerRef> all_;
  Caught<JoinAnswer> joined_;
};

TEST_F(StandstillTest, ASlowWriteFencesNobodyWhoseHeartbeatsWaitBehindIt) {
  BeginSlowWrite();
  Caught<Membership> beats;
  for (int i = 0; i < 4; ++i) {
    Pass(kTtl / 3);
    for (const WorkerRef& worker : all_) {
      session_->KeepAlive(worker, std::nullopt, beats.Callback());
    }
  }
  store_.Release();
  for (std::size_t i = 0; i < beats.size(); ++i) {
    EXPECT_THAT(beats.at(i), IsOk());
  }
  EXPECT_THAT(Step(), Eq(1));
  EXPECT_THAT(Look().members, SizeIs(3));
}

TEST_F(StandstillTest, AVoteThatWaitsBehindASlowWriteIsInTime) {
  Answers answers[2];
  Cast(all_[0], Verdict::kFinite, &answers[0]);
  Pass(kTtl - absl::Seconds(1));
  for (const WorkerRef& worker : all_) EXPECT_THAT(KeepAlive(worker), IsOk());
  BeginSlowWrite();
  Cast(all_[1], Verdict::kFinite, &answers[1]);
  Pass(kStepTimeout - kTtl + absl::Seconds(2));
  store_.Release();
  for (const Answers& one : answers) {
    ASSERT_THAT(one.size(), Eq(1u));
    ASSERT_THAT(one.at(0), IsOk());
    EXPECT_TRUE(one.at(0)->decision.apply());
  }
}

// The dead are found out all the same, later by the time the write took.
TEST_F(StandstillTest, ASlowWriteKeepsNobodyAlive) {
  BeginSlowWrite();
  Pass(kTtl);
  store_.Release();
  Pass(kTtl - absl::Milliseconds(1));
  EXPECT_THAT(KeepAlive(all_[0]), IsOk());
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(KeepAlive(all_[0]), IsOk());
  EXPECT_THAT(KeepAlive(all_[1]), IsError(Reason::kFenced));
}

// SIGSTOP, or a machine that was suspended: heartbeats wait to be read.
TEST_F(StandstillTest, AServerThatStoodStillHearsItsWorkersFirst) {
  Pass(kTtl / 2);
  Jump(kTtl * 10);
  EXPECT_THAT(KeepAlive(all_[0]), IsOk());
  registry_->RingDue();
  EXPECT_THAT(KeepAlive(all_[1]), IsOk());
}

TEST_F(StandstillTest, AfterAStandstillTheDeadAreFoundOut) {
  Jump(kTtl * 10);
  registry_->RingDue();
  Pass(absl::Seconds(2));
  EXPECT_THAT(KeepAlive(all_[0]), IsError(Reason::kFenced));
}

// An overloaded server must not keep the dead alive for ever.
TEST_F(StandstillTest, AServerThatIsAlwaysLateFindsTheDeadOut) {
  for (int i = 0; i < 5; ++i) {
    Jump(kTtl / 2);
    registry_->RingDue();
  }
  EXPECT_THAT(KeepAlive(all_[0]), IsError(Reason::kFenced));
}

}  // namespace
}  // namespace lossscaler::server
