// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A worker's lease and votes, tick by tick, on a clock that the test turns.
// The lease is 30 s: a heartbeat every 10 s, stale after 24 s.

#include "lossscaler/client/internal/worker_link.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"
#include "testing/worker_server.h"

namespace lossscaler::internal {
namespace {

using ::lossscaler::testing::FakeClock;
using ::lossscaler::testing::GroupDriver;
using ::lossscaler::testing::GroupOf;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::WorkerServer;

class WorkerLinkTest : public ::testing::Test {
 protected:
  void StartGroup(int workers) {
    server_ = std::make_shared<WorkerServer>(GroupOf(workers));
    link_ = std::make_shared<WorkerLink>(
        server_, SessionRef{},
        LinkOptions{.unavailable_budget = absl::Minutes(1),
                    .clock = clock_,
                    .random = [] { return 0.5; }});
    JoinLink("join-w0");
    for (int i = 1; i < workers; ++i) {
      peer_ = server_->With([i](GroupDriver& driver) {
        return driver.Join("w" + std::to_string(i));
      });
    }
    Turn();
  }

  void JoinLink(const std::string& request_id) {
    const absl::Time sent_at = clock_->Now();
    const absl::StatusOr<JoinAnswer> joined =
        server_->JoinSession({}, {.worker = "w0", .request_id = request_id});
    ASSERT_THAT(joined, IsOk());
    link_->Joined({.worker = "w0", .incarnation = joined->incarnation}, *joined,
                  sent_at);
  }

  // Lets the link do what is due, and tells it what comes of it.
  void Turn() {
    link_->Tick();
    while (server_->Deliver()) link_->Tick();
  }

  // Time in which the network works.
  void Pass(absl::Duration duration) {
    const absl::Time end = clock_->Now() + duration;
    while (clock_->Now() < end) {
      clock_->Advance(absl::Seconds(1));
      Turn();
    }
  }

  std::shared_ptr<CastVote> Cast(Verdict verdict) {
    const auto [step, vote] = server_->With([&](GroupDriver& driver) {
      return std::pair(driver.state().step, driver.Suitable(verdict));
    });
    auto cast = link_->Cast(step, vote);
    Turn();
    return cast;
  }
  void PeerVotes(Verdict verdict) {
    server_->With([&](GroupDriver& driver) { driver.Send(*peer_, verdict); });
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<WorkerServer> server_;
  std::shared_ptr<WorkerLink> link_;
  std::optional<WorkerRef> peer_;
};

TEST_F(WorkerLinkTest, AVoteIsAnsweredWhenTheLastOneIsIn) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  EXPECT_FALSE(link_->Ready(*cast));
  PeerVotes(Verdict::kFinite);
  Turn();
  EXPECT_TRUE(link_->Ready(*cast));
  const absl::StatusOr<Decision> decision = link_->Await(cast.get());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->outcome, Outcome::kApply);
  EXPECT_EQ(server_->votes(), 1);
}

TEST_F(WorkerLinkTest, HeartbeatsKeepTheLeaseUpWhileAVoteWaits) {
  StartGroup(2);
  Cast(Verdict::kFinite);
  Pass(absl::Minutes(2));
  // Every 10 s, and never more often.
  EXPECT_GE(server_->heartbeats(), 10);
  EXPECT_LE(server_->heartbeats(), 13);
  EXPECT_FALSE(link_->IsStale());
  EXPECT_EQ(server_->streams(), 1);
}

TEST_F(WorkerLinkTest, ALeaseRunsFromWhenTheRenewalWasSentNotAcknowledged) {
  StartGroup(1);
  clock_->Advance(absl::Seconds(10));
  link_->Tick();  // Sends a heartbeat.
  clock_->Advance(absl::Seconds(9));
  server_->Deliver();  // Acknowledged 9 s later.
  clock_->Advance(absl::Seconds(15) - absl::Milliseconds(1));
  EXPECT_FALSE(link_->IsStale());
  clock_->Advance(absl::Milliseconds(1));
  EXPECT_TRUE(link_->IsStale());
}

TEST_F(WorkerLinkTest, AnApplyIsWithheldWhileTheLeaseIsStale) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  PeerVotes(Verdict::kFinite);
  server_->Deliver();
  clock_->Advance(absl::Seconds(24));
  EXPECT_FALSE(link_->Ready(*cast));
  // The budget is a minute; no renewal is acknowledged in it.
  server_->Swallow(true);
  std::jthread time([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      clock_->Advance(absl::Seconds(5));
      link_->Tick();
    }
  });
  EXPECT_THAT(link_->Await(cast.get()), IsError(Reason::kLeaseStale));
  time.request_stop();
  time.join();
  // Asked again after a renewal, it is the decision.
  server_->Swallow(false);
  server_->Deliver();
  for (int i = 0; i < 30 && link_->IsStale(); ++i) Pass(absl::Seconds(1));
  const absl::StatusOr<Decision> decision = link_->Await(cast.get());
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
}

TEST_F(WorkerLinkTest, ASkipIsToldWhateverTheLease) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  PeerVotes(Verdict::kOverflow);
  server_->Deliver();
  clock_->Advance(absl::Minutes(5));
  const absl::StatusOr<Decision> decision = link_->Await(cast.get());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->outcome, Outcome::kSkipOverflow);
}

TEST_F(WorkerLinkTest, AVoteIsCastAgainOverTheNextStream) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  server_->Cut(absl::UnavailableError("cut"));
  Pass(absl::Seconds(3));
  EXPECT_EQ(server_->streams(), 2);
  EXPECT_EQ(server_->votes(), 2);
  PeerVotes(Verdict::kFinite);
  Turn();
  EXPECT_THAT(link_->Await(cast.get()), IsOk());
}

TEST_F(WorkerLinkTest, ADecisionThatWasLostOnItsWayIsAskedForAgain) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  PeerVotes(Verdict::kFinite);
  server_->Cut(absl::UnavailableError("cut"));  // With the decision in it.
  Pass(absl::Seconds(3));
  const absl::StatusOr<Decision> decision = link_->Await(cast.get());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(*decision,
            server_->With([](GroupDriver& driver) { return driver.Last(); }));
}

TEST_F(WorkerLinkTest, AVoteThatTheServerForgotInARestartIsCastAgain) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  server_->Restart();
  Pass(absl::Seconds(3));
  PeerVotes(Verdict::kFinite);
  Turn();
  EXPECT_THAT(link_->Await(cast.get()), IsOk());
}

TEST_F(WorkerLinkTest, ASilentStreamIsReplacedAfterAThirdOfTheLease) {
  StartGroup(2);
  server_->Swallow(true);
  clock_->Advance(absl::Seconds(10));
  Turn();  // The heartbeat is lost.
  clock_->Advance(absl::Seconds(10));
  server_->Swallow(false);
  Pass(absl::Seconds(2));
  EXPECT_EQ(server_->streams(), 2);
  EXPECT_FALSE(link_->IsStale());
}

TEST_F(WorkerLinkTest, AServerThatStaysAwaySpendsTheBudgetAndMayComeBack) {
  StartGroup(1);
  server_->Refuse(absl::UnavailableError("down"));
  server_->Cut(absl::UnavailableError("down"));
  Turn();
  const auto cast = Cast(Verdict::kFinite);
  std::jthread time([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      clock_->Advance(absl::Seconds(5));
      Turn();
    }
  });
  EXPECT_THAT(link_->Await(cast.get()),
              IsError(Reason::kUnavailableBudgetSpent));
  time.request_stop();
  time.join();
  server_->Refuse(absl::OkStatus());
  Pass(absl::Seconds(5));
  const absl::StatusOr<Decision> decision = link_->Await(cast.get());
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
}

TEST_F(WorkerLinkTest, AFencedWorkerIsToldWhatToDo) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  server_->With([](GroupDriver& driver) {
    const WorkerRef old{.worker = "w0", .incarnation = 1};
    EXPECT_THAT(driver.Join({.worker = "w0",
                             .request_id = "other",
                             .resume_token = driver.TokenOf(old)}),
                IsOk());
  });
  Turn();
  const absl::Status fenced = link_->Await(cast.get()).status();
  EXPECT_THAT(fenced, IsError(Reason::kFenced));
  EXPECT_THAT(std::string(fenced.message()), ::testing::HasSubstr("Rejoin()"));
  // Its lease is of no use, and no stream is tried again.
  Pass(absl::Minutes(1));
  EXPECT_EQ(server_->streams(), 1);
}

TEST_F(WorkerLinkTest, APausedSessionIsWaitedOutAndTheVoteCastAgain) {
  StartGroup(2);
  // The peer leaves: at the boundary the session is paused.
  server_->With([&](GroupDriver& driver) {
    driver.Send(*peer_, Verdict::kSkip);
    EXPECT_THAT(driver.Leave(*peer_), IsOk());
  });
  EXPECT_THAT(link_->Await(Cast(Verdict::kFinite).get()), IsOk());
  EXPECT_EQ(link_->membership().phase, GroupPhase::kPaused);
  const auto cast = Cast(Verdict::kFinite);
  EXPECT_FALSE(link_->Ready(*cast));
  peer_ = server_->With([](GroupDriver& driver) { return driver.Join("w1"); });
  Pass(absl::Seconds(2));
  PeerVotes(Verdict::kFinite);
  Turn();
  const absl::StatusOr<Decision> decision = link_->Await(cast.get());
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
}

TEST_F(WorkerLinkTest, ClosingEndsEveryWait) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  absl::Status status;
  std::thread waiter([&] { status = link_->Await(cast.get()).status(); });
  link_->Close();
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(link_->WaitForTick(absl::InfiniteFuture()));
}

}  // namespace
}  // namespace lossscaler::internal
