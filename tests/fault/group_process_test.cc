// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Group sessions of real processes: workers, servers and networks that die,
// freeze and come back at a stated moment. What must hold in every case is in
// group/history_checker.h; what must hold in each is in the test.

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fault/group/group_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

// The step that something happens on, and one by which all is well again.
constexpr std::int64_t kStep = 4;
constexpr std::int64_t kEnd = 9;

GroupConfig TwoWorkers(absl::Duration lease_ttl) {
  GroupConfig config;
  config.min_workers = config.max_workers = 2;
  config.lease_ttl = lease_ttl;
  return config;
}

class GroupProcessTest : public ::testing::Test {
 protected:
  // Rank 0 and 1, of which rank 1 stands still before it votes on kStep, when
  // the vote of rank 0 is in. A lease outlives the test unless it is short.
  void StartUntilOneVoteWaits(absl::Duration lease_ttl,
                              const std::string& failpoint = "") {
    Start(lease_ttl, failpoint);
    job_->StartWorker(0);
    job_->StartWorker(1, {"--stop-before", std::to_string(kStep)});
    ASSERT_TRUE(job_->worker(1).WaitUntilStopped());
    ASSERT_TRUE(GroupJob::Await([this] { return job_->HasVoted(0); }));
  }

  void Start(absl::Duration lease_ttl, const std::string& failpoint = "") {
    job_.emplace(directory_.path(),
                 GroupJobOptions{
                     .config = TwoWorkers(lease_ttl),
                     .scaler = *LossScaler::Dynamic(1024, 2, 3),
                     .worker_flags = {"--until-step", std::to_string(kEnd)}});
    ASSERT_TRUE(job_->StartServer(failpoint));
    ASSERT_THAT(job_->Create(), IsOk());
  }

  // Both get to the end, and nothing that anybody saw contradicts it.
  void ExpectAllIsWell() {
    EXPECT_THAT(job_->worker(0).Wait(), Optional(0));
    EXPECT_THAT(job_->worker(1).Wait(), Optional(0));
    EXPECT_THAT(job_->Check(), IsEmpty());
  }

  v1::Decision Decided(std::int64_t step) {
    const absl::StatusOr<std::vector<v1::Decision>> journal = job_->Journal();
    if (!journal.ok()) return {};
    for (const v1::Decision& decision : *journal) {
      if (decision.step() == step) return decision;
    }
    return {};
  }

  // As workers are told it, byte for byte.
  std::string Told(std::int64_t step) {
    v1::Decision decision = Decided(step);
    decision.clear_votes();
    return decision.SerializeAsString();
  }

  std::optional<Observation> First(int rank, Event event,
                                   std::int64_t step) const {
    for (Observation& seen : job_->Seen(rank)) {
      if (seen.event() == event && seen.step() == step) return std::move(seen);
    }
    return std::nullopt;
  }

  bool WasRefused(int rank, const std::string& reason) const {
    const std::vector<Observation> seen = job_->Seen(rank);
    return std::any_of(seen.begin(), seen.end(),
                       [&](const Observation& observation) {
                         return observation.event() == EVENT_REFUSED &&
                                observation.reason() == reason;
                       });
  }

  const TempDirectory directory_;
  std::optional<GroupJob> job_;
};

TEST_F(GroupProcessTest, WorkerKilledBeforeItsVoteEndsTheStepForAll) {
  StartUntilOneVoteWaits(kMinLeaseTtl);
  job_->worker(1).Signal(SIGKILL);
  ASSERT_TRUE(job_->AwaitDecided(0, kStep));
  EXPECT_EQ(Decided(kStep).outcome(), v1::OUTCOME_SKIP);
  EXPECT_EQ(Decided(kStep).reason(), v1::DECISION_REASON_WORKER_LOST);
  job_->StartWorker(1);
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, WorkerKilledAfterItsVoteIsCountedAndTakenOver) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  job_->worker(0).Signal(SIGKILL);
  job_->worker(1).Signal(SIGCONT);
  ASSERT_TRUE(job_->AwaitDecided(1, kStep));
  EXPECT_EQ(Decided(kStep).outcome(), v1::OUTCOME_APPLY);
  EXPECT_THAT(Decided(kStep).votes(), SizeIs(2));
  // Its lease runs on for an hour: without the token its name is held.
  job_->StartWorker(0, {"--resume"});
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, WorkerFrozenBeyondItsLeaseVotesAndIsFenced) {
  StartUntilOneVoteWaits(kMinLeaseTtl);
  ASSERT_TRUE(job_->AwaitDecided(0, kStep));
  job_->worker(1).Signal(SIGCONT);
  ExpectAllIsWell();
  EXPECT_TRUE(WasRefused(1, "FENCED"));
  EXPECT_EQ(Decided(kStep).reason(), v1::DECISION_REASON_WORKER_LOST);
  EXPECT_THAT(Decided(kStep).votes(), SizeIs(1));
}

TEST_F(GroupProcessTest,
       WorkerFrozenBeyondItsLeaseAppliesOnlyAfterItHasRejoined) {
  StartUntilOneVoteWaits(kMinLeaseTtl);
  job_->worker(0).Signal(SIGSTOP);
  ASSERT_TRUE(job_->worker(0).WaitUntilStopped());
  job_->worker(1).Signal(SIGCONT);
  ASSERT_TRUE(job_->AwaitDecided(1, kStep));
  EXPECT_EQ(Decided(kStep).outcome(), v1::OUTCOME_APPLY);
  // The next step ends with the lease.
  ASSERT_TRUE(job_->AwaitDecided(1, kStep + 1));
  EXPECT_EQ(Decided(kStep + 1).reason(), v1::DECISION_REASON_WORKER_LOST);
  job_->worker(0).Signal(SIGCONT);
  ExpectAllIsWell();
  EXPECT_TRUE(WasRefused(0, "FENCED"));
  const std::optional<Observation> voted = First(0, EVENT_VOTING, kStep);
  const std::optional<Observation> applied = First(0, EVENT_APPLIED, kStep);
  ASSERT_TRUE(voted.has_value());
  ASSERT_TRUE(applied.has_value());
  EXPECT_GT(applied->incarnation(), voted->incarnation());
}

TEST_F(GroupProcessTest, ServerKilledBeforeTheWriteIsVotedForAgain) {
  Start(kMaxLeaseTtl, "before_step:4");
  job_->StartWorker(0);
  job_->StartWorker(1);
  ASSERT_THAT(job_->server().Wait(), Optional(128 + SIGKILL));
  for (const int rank : {0, 1}) {
    job_->worker(rank).Signal(SIGSTOP);
    ASSERT_TRUE(job_->worker(rank).WaitUntilStopped());
    EXPECT_EQ(First(rank, EVENT_DECIDED, kStep), std::nullopt);
  }
  ASSERT_TRUE(job_->StartServer());
  EXPECT_EQ(job_->Session()->current.step, kStep);
  for (const int rank : {0, 1}) job_->worker(rank).Signal(SIGCONT);
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, ServerKilledAfterTheWriteAnswersTheSameDecision) {
  Start(kMaxLeaseTtl, "after_step:4");
  job_->StartWorker(0);
  job_->StartWorker(1);
  ASSERT_THAT(job_->server().Wait(), Optional(128 + SIGKILL));
  for (const int rank : {0, 1}) {
    job_->worker(rank).Signal(SIGSTOP);
    ASSERT_TRUE(job_->worker(rank).WaitUntilStopped());
    EXPECT_EQ(First(rank, EVENT_DECIDED, kStep), std::nullopt);
  }
  ASSERT_TRUE(job_->StartServer());
  EXPECT_EQ(job_->Session()->current.step, kStep + 1);
  const std::string written = Told(kStep);
  for (const int rank : {0, 1}) job_->worker(rank).Signal(SIGCONT);
  ExpectAllIsWell();
  for (const int rank : {0, 1}) {
    const std::optional<Observation> seen = First(rank, EVENT_DECIDED, kStep);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->decision().SerializeAsString(), written);
  }
}

TEST_F(GroupProcessTest, ServerKilledWhileAVoteWaitsGetsItAgain) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  job_->KillServer();
  ASSERT_TRUE(job_->StartServer());
  // Undecided votes are not kept: the client's own sending brings it back.
  EXPECT_TRUE(GroupJob::Await([this] { return job_->HasVoted(0); }));
  job_->worker(1).Signal(SIGCONT);
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, EndedServerLetsWaitingVotesGoAndGetsThemAgain) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  job_->server().Signal(SIGTERM);
  // It would drain for an hour if a vote held it.
  EXPECT_THAT(job_->server().Wait(), Optional(0)) << job_->server().Err();
  ASSERT_TRUE(job_->StartServer());
  EXPECT_TRUE(GroupJob::Await([this] { return job_->HasVoted(0); }));
  job_->worker(1).Signal(SIGCONT);
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, LostAnswersAreGivenAgain) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  job_->proxy().DropAnswers(true);
  job_->worker(1).Signal(SIGCONT);
  ASSERT_TRUE(GroupJob::Await(
      [this] { return job_->Session()->current.step > kStep; }));
  EXPECT_EQ(First(0, EVENT_DECIDED, kStep), std::nullopt);
  EXPECT_EQ(First(1, EVENT_DECIDED, kStep), std::nullopt);
  const std::string written = Told(kStep);
  job_->proxy().DropAnswers(false);
  ExpectAllIsWell();
  for (const int rank : {0, 1}) {
    const std::optional<Observation> seen = First(rank, EVENT_DECIDED, kStep);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->decision().SerializeAsString(), written);
  }
}

TEST_F(GroupProcessTest, LostVotesAreSentAgain) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  job_->proxy().DropRequests(true);
  job_->worker(1).Signal(SIGCONT);
  ASSERT_TRUE(job_->AwaitSeen(1, [](const Observation& seen) {
    return seen.event() == EVENT_VOTING && seen.step() == kStep;
  }));
  job_->proxy().DropRequests(false);
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, ResetAndSlowConnectionsChangeNoDecision) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  job_->proxy().set_delay(absl::Milliseconds(20));
  job_->proxy().Reset();
  job_->worker(1).Signal(SIGCONT);
  for (std::int64_t step = kStep; step < kEnd; ++step) {
    ASSERT_TRUE(job_->AwaitDecided(0, step));
    job_->proxy().Reset();
  }
  ExpectAllIsWell();
  EXPECT_EQ(Decided(kEnd).applied(), kEnd);
}

TEST_F(GroupProcessTest, SecondServerOnTheStateIsRefusedAndChangesNothing) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  ServerProcess second(LOSSSCALER_BINARY_DIR "/server/lossscalerd",
                       directory_.path(), job_->ServerFlags());
  EXPECT_THAT(second.Wait(), Optional(3)) << second.Err();
  job_->worker(1).Signal(SIGCONT);
  ExpectAllIsWell();
}

TEST_F(GroupProcessTest, DoubledRestoreIsOneAndEndsTheStep) {
  StartUntilOneVoteWaits(kMaxLeaseTtl);
  const LossScaler restored = *LossScaler::Dynamic(64, 2, 3);
  ASSERT_THAT(job_->Restore(restored, "once"), IsOk());
  ASSERT_THAT(job_->Restore(restored, "once"), IsOk());
  job_->worker(1).Signal(SIGCONT);
  ExpectAllIsWell();
  EXPECT_EQ(Decided(kStep).reason(), v1::DECISION_REASON_RESTORED);
  EXPECT_EQ(Decided(kStep).scale_after(), 64);
  EXPECT_EQ(Decided(kStep + 1).outcome(), v1::OUTCOME_APPLY);
}

TEST_F(GroupProcessTest, JobRestartsTwiceFromOneCheckpoint) {
  Start(kMaxLeaseTtl);
  const auto run_until_all_stop_before = [&](const std::string& step,
                                             std::int64_t from_checkpoint) {
    EXPECT_EQ(job_->StartAttempt({"--checkpoint-every", "3", "--stop-before",
                                  step, "--until-step", "100"}),
              from_checkpoint);
    for (const int rank : {0, 1}) {
      ASSERT_TRUE(job_->worker(rank).WaitUntilStopped());
    }
  };
  // A new attempt ends the open step, and its restore is the next one: 5 and 6,
  // 9 and 10. Workers train on 7 and 8, and again on 11.
  run_until_all_stop_before("5", 0);
  run_until_all_stop_before("9", 3);
  run_until_all_stop_before("12", 3);
  const absl::StatusOr<std::vector<v1::Decision>> journal = job_->Journal();
  ASSERT_THAT(journal, IsOk());
  std::vector<std::int64_t> restored_to;
  for (const v1::Decision& decision : *journal) {
    if (decision.reason() == v1::DECISION_REASON_RESTORED) {
      restored_to.push_back(decision.base_after());
    }
  }
  EXPECT_THAT(restored_to, ::testing::ElementsAre(3, 3));
  EXPECT_THAT(job_->Check(), IsEmpty());
}

// N11: its lease ran out while it waited for the others.
TEST_F(GroupProcessTest, FormingWorkerThatIsFencedPresentsItsCheckpointAgain) {
  Start(kMinLeaseTtl);
  job_->StartAttempt({"--checkpoint-every", "3", "--stop-before", "5"});
  for (const int rank : {0, 1}) {
    ASSERT_TRUE(job_->worker(rank).WaitUntilStopped());
  }
  ASSERT_EQ(job_->NewAttempt(), 3);
  const auto joins = [this] {
    const std::vector<Observation> seen = job_->Seen(0);
    return std::count_if(seen.begin(), seen.end(), [](const Observation& line) {
      return line.event() == EVENT_JOINED;
    });
  };
  job_->StartWorker(0, {"--from-checkpoint", "3"});
  ASSERT_TRUE(GroupJob::Await([&] { return joins() == 2; }));
  job_->worker(0).Signal(SIGSTOP);
  ASSERT_TRUE(
      GroupJob::Await([this] { return job_->Session()->workers.empty(); }));
  job_->worker(0).Signal(SIGCONT);
  ASSERT_TRUE(GroupJob::Await([&] { return joins() == 3; }));
  job_->StartWorker(1, {"--from-checkpoint", "3"});
  ExpectAllIsWell();
  EXPECT_TRUE(WasRefused(0, "FENCED"));
  EXPECT_EQ(Decided(6).reason(), v1::DECISION_REASON_RESTORED);
  EXPECT_EQ(Decided(6).base_after(), 3);
}

}  // namespace
}  // namespace lossscaler::testing
