// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A worker's lease and votes, tick by tick, on a clock that the test turns.
// The lease is 30 s: a heartbeat every 10 s, stale after 24 s.

#include "lossscaler/client/internal/worker_link.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
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

// A clock that counts how often it is looked at.
class WatchedClock : public FakeClock {
 public:
  absl::Time Now() override {
    if (std::this_thread::get_id() != ignored_) ++reads_;
    return FakeClock::Now();
  }
  // Counts no more of what this thread does.
  void IgnoreThisThread() { ignored_ = std::this_thread::get_id(); }
  int reads() const { return reads_; }

 private:
  std::atomic<std::thread::id> ignored_ = std::thread::id();
  std::atomic<int> reads_ = 0;
};

// A call that waits, while the time goes on, second by second as it looks at
// the clock; ten minutes of it at most.
template <typename Call>
auto WhileTimePasses(WatchedClock* clock, WorkerLink* link,
                     const std::function<void()>& every_second, Call call) {
  std::jthread time([=](const std::stop_token& stop) {
    clock->IgnoreThisThread();
    for (int i = 0; i < 600 && !stop.stop_requested(); ++i) {
      const int reads = clock->reads();
      clock->Advance(absl::Seconds(1));
      link->Tick();
      every_second();
      while (!stop.stop_requested() && clock->reads() == reads) {
        std::this_thread::yield();
      }
    }
    if (!stop.stop_requested()) link->Close();
  });
  return call();
}

class WorkerLinkTest : public ::testing::Test {
 protected:
  // What was sent and heard holds the link, which holds the server.
  ~WorkerLinkTest() override {
    link_->Close();
    while (server_->Deliver()) {
    }
  }

  void StartGroup(int workers) {
    server_ = std::make_shared<WorkerServer>(GroupOf(workers));
    link_ = std::make_shared<WorkerLink>(
        server_,
        SessionRef{.name = "run", .uid = server_->With([](GroupDriver& driver) {
                     return driver.state().uid;
                   })},
        LinkOptions{.unavailable_budget = absl::Minutes(1),
                    .on_wait =
                        [this](const WaitReport& report) {
                          if (on_wait_) on_wait_(report);
                        },
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

  std::shared_ptr<PendingVote> Cast(Verdict verdict) {
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

  std::shared_ptr<WatchedClock> clock_ = std::make_shared<WatchedClock>();
  // Runs a call that waits on another thread, from when it waits.
  template <typename Call>
  std::thread Waiting(Call call) {
    const int reads = clock_->reads();
    std::thread waiter(std::move(call));
    while (clock_->reads() == reads) std::this_thread::yield();
    return waiter;
  }
  template <typename Call>
  auto WhileTimePasses(Call call) {
    return internal::WhileTimePasses(
        clock_.get(), link_.get(), [this] { Turn(); }, std::move(call));
  }

  std::function<void(const WaitReport&)> on_wait_;
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
  const absl::StatusOr<Decision> decision = link_->Await(cast);
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
  EXPECT_THAT(link_->Await(cast), IsError(Reason::kLeaseStale));
  time.request_stop();
  time.join();
  // Asked again after a renewal, it is the decision.
  server_->Swallow(false);
  server_->Deliver();
  for (int i = 0; i < 30 && link_->IsStale(); ++i) Pass(absl::Seconds(1));
  const absl::StatusOr<Decision> decision = link_->Await(cast);
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
}

TEST_F(WorkerLinkTest, ASkipIsToldWhateverTheLease) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  PeerVotes(Verdict::kOverflow);
  server_->Deliver();
  clock_->Advance(absl::Minutes(5));
  const absl::StatusOr<Decision> decision = link_->Await(cast);
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
  EXPECT_THAT(link_->Await(cast), IsOk());
}

TEST_F(WorkerLinkTest, AStreamThatAServerShortOfMemoryEndsIsOpenedAgain) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  server_->Cut(absl::ResourceExhaustedError("RST_STREAM"));
  Pass(absl::Seconds(3));
  EXPECT_EQ(server_->streams(), 2);
  EXPECT_EQ(server_->votes(), 2);
  PeerVotes(Verdict::kFinite);
  Turn();
  EXPECT_THAT(link_->Await(cast), IsOk());
}

TEST_F(WorkerLinkTest, ADecisionThatWasLostOnItsWayIsAskedForAgain) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  PeerVotes(Verdict::kFinite);
  server_->Cut(absl::UnavailableError("cut"));  // With the decision in it.
  Pass(absl::Seconds(3));
  const absl::StatusOr<Decision> decision = link_->Await(cast);
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
  EXPECT_THAT(link_->Await(cast), IsOk());
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
  EXPECT_THAT(link_->Await(cast), IsError(Reason::kUnavailableBudgetSpent));
  time.request_stop();
  time.join();
  server_->Refuse(absl::OkStatus());
  Pass(absl::Seconds(5));
  const absl::StatusOr<Decision> decision = link_->Await(cast);
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
  const absl::Status fenced = link_->Await(cast).status();
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
  EXPECT_THAT(link_->Await(Cast(Verdict::kFinite)), IsOk());
  EXPECT_EQ(link_->membership().phase, GroupPhase::kPaused);
  const auto cast = Cast(Verdict::kFinite);
  EXPECT_FALSE(link_->Ready(*cast));
  peer_ = server_->With([](GroupDriver& driver) { return driver.Join("w1"); });
  Pass(absl::Seconds(2));
  PeerVotes(Verdict::kFinite);
  Turn();
  const absl::StatusOr<Decision> decision = link_->Await(cast);
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
}

TEST_F(WorkerLinkTest, ClosingEndsEveryWait) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  absl::Status status;
  std::thread waiter = Waiting([&] { status = link_->Await(cast).status(); });
  link_->Close();
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(link_->WaitForTick(absl::InfiniteFuture()));
}

// The waiting call asks for a renewal, which no stream can carry: once.
TEST_F(WorkerLinkTest, WithoutAServerAWithheldApplyWaitsQuietly) {
  StartGroup(1);
  const auto cast = Cast(Verdict::kFinite);
  server_->Refuse(absl::UnavailableError("down"));
  server_->Cut(absl::UnavailableError("down"));
  Turn();
  clock_->Advance(absl::Seconds(24));
  std::thread keeper([&] {
    while (link_->WaitForTick(link_->Tick())) server_->Deliver();
  });
  std::thread waiter = Waiting([&] { link_->Await(cast).IgnoreError(); });
  const int before = clock_->reads();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Each of the two threads looks at the clock about once a second; two that
  // wake each other, some ten thousand times.
  EXPECT_LT(clock_->reads() - before, 200);
  link_->Close();
  waiter.join();
  keeper.join();
}

// The straggler came after as long as the budget, and the machine slept for a
// moment: one heartbeat cures that.
TEST_F(WorkerLinkTest, AStaleLeaseIsWaitedForFromWhenItIsSeen) {
  StartGroup(2);
  const auto cast = Cast(Verdict::kFinite);
  absl::StatusOr<Decision> decision = absl::UnknownError("");
  std::thread waiter = Waiting([&] { decision = link_->Await(cast); });
  Pass(absl::Minutes(2));
  clock_->Advance(absl::Seconds(25));
  PeerVotes(Verdict::kFinite);
  const int before = clock_->reads();
  server_->Deliver();
  // It has looked at the clock after the decision came.
  while (clock_->reads() < before + 2) std::this_thread::yield();
  Pass(absl::Seconds(2));
  waiter.join();
  ASSERT_THAT(decision, IsOk());
  EXPECT_TRUE(decision->apply());
}

TEST_F(WorkerLinkTest, AReportMayThrowAndTheCallBeMadeAgain) {
  StartGroup(1);
  server_->Refuse(absl::UnavailableError("down"));
  server_->Cut(absl::UnavailableError("down"));
  Turn();
  const auto cast = Cast(Verdict::kFinite);
  on_wait_ = [](const WaitReport&) { throw std::runtime_error("stop"); };
  EXPECT_THROW(
      WhileTimePasses([&] { return link_->Await(cast); }).IgnoreError(),
      std::runtime_error);
  on_wait_ = nullptr;
  server_->Refuse(absl::OkStatus());
  EXPECT_THAT(WhileTimePasses([&] { return link_->Await(cast); }), IsOk());
}

TEST_F(WorkerLinkTest, AReportSaysWhatIsWaitedForAndHowLongYet) {
  StartGroup(1);
  server_->Refuse(absl::UnavailableError("down"));
  server_->Cut(absl::UnavailableError("down"));
  Turn();
  const auto cast = Cast(Verdict::kFinite);
  std::vector<WaitReport> reports;
  on_wait_ = [&](const WaitReport& report) {
    // It may ask the link.
    EXPECT_EQ(link_->worker().worker, "w0");
    reports.push_back(report);
  };
  EXPECT_THAT(WhileTimePasses([&] { return link_->Await(cast); }),
              IsError(Reason::kUnavailableBudgetSpent));
  ASSERT_FALSE(reports.empty());
  for (const WaitReport& report : reports) {
    EXPECT_EQ(report.method, "Update");
    EXPECT_GE(report.waited, absl::Seconds(5));
    EXPECT_EQ(report.waited + report.budget_left, absl::Minutes(1));
    EXPECT_EQ(report.last_error.message(), "down");
  }
}

TEST_F(WorkerLinkTest, APausedSessionIsReportedAndSpendsNothing) {
  StartGroup(2);
  server_->With([&](GroupDriver& driver) {
    driver.Send(*peer_, Verdict::kSkip);
    EXPECT_THAT(driver.Leave(*peer_), IsOk());
  });
  EXPECT_THAT(link_->Await(Cast(Verdict::kFinite)), IsOk());
  std::vector<WaitReport> reports;
  on_wait_ = [&](const WaitReport& report) {
    reports.push_back(report);
    if (report.waited > absl::Minutes(2)) link_->Close();
  };
  EXPECT_EQ(WhileTimePasses([&] { return link_->AwaitOpen(); }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_GT(reports.size(), 1);
  for (const WaitReport& report : reports) {
    EXPECT_EQ(report.method, "BeginStep");
    EXPECT_EQ(report.budget_left, absl::Minutes(1));
    EXPECT_THAT(report.last_error, IsError(Reason::kSessionPaused));
  }
}

// A server that a test plays itself, message by message.
class ManualServer : public ::testing::NiceMock<MockConnection> {
 public:
  struct Beat {
    std::int64_t sequence = 0;
    std::optional<Checkpoint> checkpoint;
  };

  std::shared_ptr<WorkerStream> Participate(
      const SessionRef&, const WorkerRef&,
      std::shared_ptr<WorkerStreamEvents> events) override {
    MutexLock lock(&mutex_);
    ++streams_;
    beats_.clear();
    votes_.clear();
    events_ = std::move(events);
    return std::make_shared<Stream>(this);
  }

  std::shared_ptr<WorkerStreamEvents> events() const {
    MutexLock lock(&mutex_);
    return events_;
  }
  int streams() const {
    MutexLock lock(&mutex_);
    return streams_;
  }
  // What the present stream has carried.
  std::vector<Beat> beats() const {
    MutexLock lock(&mutex_);
    return beats_;
  }
  std::vector<std::int64_t> votes() const {
    MutexLock lock(&mutex_);
    return votes_;
  }
  void Forget() {
    MutexLock lock(&mutex_);
    events_.reset();
  }

 private:
  class Stream : public WorkerStream {
   public:
    explicit Stream(ManualServer* server) : server_(server) {}
    void SendHeartbeat(std::int64_t sequence,
                       const std::optional<Checkpoint>& checkpoint) override {
      MutexLock lock(&server_->mutex_);
      server_->beats_.push_back({sequence, checkpoint});
    }
    void SendVote(std::int64_t sequence, std::int64_t, const Vote&) override {
      MutexLock lock(&server_->mutex_);
      server_->votes_.push_back(sequence);
    }
    void Cancel() override {}

   private:
    ManualServer* const server_;
  };

  mutable Mutex mutex_;
  std::shared_ptr<WorkerStreamEvents> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<Beat> beats_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::int64_t> votes_ ABSL_GUARDED_BY(mutex_);
  int streams_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ManualLinkTest : public ::testing::Test {
 protected:
  ManualLinkTest() {
    link_->Joined(
        {.worker = "w0", .incarnation = 1},
        {.incarnation = 1, .lease_ttl = absl::Seconds(30), .membership = open_},
        clock_->Now());
    link_->Tick();
    server_->events()->OnOpened(open_);
  }
  ~ManualLinkTest() override {
    link_->Close();
    server_->Forget();
  }

  template <typename Call>
  auto WhileTimePasses(Call call, const std::function<void()>& every_second) {
    return internal::WhileTimePasses(clock_.get(), link_.get(), every_second,
                                     std::move(call));
  }

  void AnswerBeats() {
    for (const ManualServer::Beat& beat : server_->beats()) {
      server_->events()->OnHeartbeat(beat.sequence, open_, absl::OkStatus());
    }
  }
  // The heartbeats so far that present something.
  std::vector<ManualServer::Beat> Presenting() const {
    std::vector<ManualServer::Beat> beats = server_->beats();
    std::erase_if(beats, [](const ManualServer::Beat& beat) {
      return !beat.checkpoint.has_value();
    });
    return beats;
  }
  static Checkpoint CheckpointOf(std::int64_t step) {
    return {.scaler = testing::GoldenScaler(), .base = {"other", step}};
  }
  static Vote Finite() {
    return {.verdict = Verdict::kFinite, .scale_used = 1.0, .base = 0};
  }

  const Membership open_{.state = MemberState::kActive,
                         .phase = GroupPhase::kOpen};
  std::shared_ptr<WatchedClock> clock_ = std::make_shared<WatchedClock>();
  std::shared_ptr<ManualServer> server_ = std::make_shared<ManualServer>();
  std::shared_ptr<WorkerLink> link_ = std::make_shared<WorkerLink>(
      server_, SessionRef{.name = "run", .uid = "uid"},
      LinkOptions{.unavailable_budget = absl::Minutes(1),
                  .clock = clock_,
                  .random = [] { return 0.5; }});
};

// A proxy that cuts, a message that the server cannot read: nothing that works.
TEST_F(ManualLinkTest, StreamsThatOpenAndBreakSpendTheBudget) {
  const auto vote = link_->Cast(1, Finite());
  const auto break_it = [&] {
    const auto events = server_->events();
    events->OnOpened(open_);
    events->OnClosed(absl::UnavailableError("cut"));
  };
  break_it();
  EXPECT_THAT(WhileTimePasses([&] { return link_->Await(vote); }, break_it),
              IsError(Reason::kUnavailableBudgetSpent));
  EXPECT_GT(server_->streams(), 10);
}

TEST_F(ManualLinkTest, AStreamInPlaceOfALostOneShowsAtOnceWhetherItWorks) {
  EXPECT_TRUE(server_->beats().empty());
  server_->events()->OnClosed(absl::UnavailableError("cut"));
  clock_->Advance(absl::Seconds(1));
  link_->Tick();
  EXPECT_EQ(server_->streams(), 2);
  EXPECT_EQ(server_->beats().size(), 1);
}

// A vote that is recorded has no answer for as long as its peers take.
TEST_F(ManualLinkTest, AVoteThatFailedOnceDoesNotSpendTheBudgetOnItsPeers) {
  const auto vote = link_->Cast(1, Finite());
  server_->events()->OnVote(
      server_->votes().back(),
      MakeRetryableError(Reason::kDraining, "later", absl::Seconds(1)),
      std::nullopt);
  int seconds = 0;
  const absl::Status waited =
      WhileTimePasses([&] { return link_->Await(vote).status(); },
                      [&] {
                        AnswerBeats();
                        if (++seconds == 300) link_->Close();
                      });
  EXPECT_EQ(waited.code(), absl::StatusCode::kCancelled) << waited;
  EXPECT_EQ(server_->votes().size(), 2);
}

// The coordinator has not seen it: it renews nothing.
TEST_F(ManualLinkTest, AVoteThatTheServerCouldNotTakeRenewsNoLease) {
  clock_->Advance(absl::Seconds(9));
  link_->Cast(1, Finite());
  server_->events()->OnVote(
      server_->votes().back(),
      MakeRetryableError(Reason::kDraining, "later", absl::Seconds(1)),
      std::nullopt);
  clock_->Advance(absl::Seconds(15));
  EXPECT_TRUE(link_->IsStale());
}

TEST_F(ManualLinkTest, ARefusedVoteRenewsTheLeaseFromWhenItWasSent) {
  clock_->Advance(absl::Seconds(9));
  link_->Cast(1, Finite());
  clock_->Advance(absl::Seconds(5));
  server_->events()->OnVote(server_->votes().back(),
                            MakeError(Reason::kScaleMismatch, "no"),
                            std::nullopt);
  clock_->Advance(absl::Seconds(18));
  EXPECT_FALSE(link_->IsStale());
  clock_->Advance(absl::Seconds(1));
  EXPECT_TRUE(link_->IsStale());
}

TEST_F(ManualLinkTest, APresentationThatFailedIsNotMadeLater) {
  server_->events()->OnClosed(absl::UnavailableError("down"));
  EXPECT_THAT(
      WhileTimePasses(
          [&] { return link_->Present(CheckpointOf(2)); },
          [&] { server_->events()->OnClosed(absl::UnavailableError("down")); }),
      IsError(Reason::kUnavailableBudgetSpent));
  clock_->Advance(absl::Seconds(5));
  link_->Tick();
  server_->events()->OnOpened(open_);
  clock_->Advance(absl::Seconds(10));
  link_->Tick();
  EXPECT_FALSE(server_->beats().empty());
  EXPECT_TRUE(Presenting().empty());
}

TEST_F(ManualLinkTest, APresentationIsMadeAgainOnTheNextStream) {
  absl::Status presented = absl::UnknownError("");
  std::thread caller([&] { presented = link_->Present(CheckpointOf(2)); });
  while (Presenting().empty()) {
    link_->Tick();
    std::this_thread::yield();
  }
  server_->events()->OnClosed(absl::UnavailableError("cut"));
  clock_->Advance(absl::Seconds(1));
  link_->Tick();
  ASSERT_EQ(Presenting().size(), 1);
  server_->events()->OnHeartbeat(Presenting().front().sequence, open_,
                                 MakeError(Reason::kConfigMismatch, "no"));
  caller.join();
  EXPECT_THAT(presented, IsError(Reason::kConfigMismatch));
}

TEST_F(ManualLinkTest, ASecondPresentationTakesTheFirstOnesPlace) {
  absl::Status first = absl::UnknownError("");
  std::thread first_caller([&] { first = link_->Present(CheckpointOf(2)); });
  while (Presenting().empty()) {
    link_->Tick();
    std::this_thread::yield();
  }
  absl::Status second = absl::UnknownError("");
  std::thread second_caller([&] { second = link_->Present(CheckpointOf(3)); });
  while (Presenting().size() < 2) {
    link_->Tick();
    std::this_thread::yield();
  }
  first_caller.join();
  EXPECT_EQ(first.code(), absl::StatusCode::kAborted);
  // The answer to the first says nothing of the second.
  server_->events()->OnHeartbeat(Presenting()[0].sequence, open_,
                                 MakeError(Reason::kConfigMismatch, "no"));
  EXPECT_EQ(Presenting()[1].checkpoint, CheckpointOf(3));
  server_->events()->OnHeartbeat(Presenting()[1].sequence, open_,
                                 absl::OkStatus());
  second_caller.join();
  EXPECT_THAT(second, IsOk());
}

TEST_F(ManualLinkTest, AMismatchThatWasToldIsAskedForAgain) {
  const auto vote = link_->Cast(1, Finite());
  server_->events()->OnVote(server_->votes().back(),
                            MakeError(Reason::kCheckpointMismatch, "no"),
                            std::nullopt);
  EXPECT_TRUE(link_->Ready(*vote));
  EXPECT_THAT(link_->Await(vote), IsError(Reason::kCheckpointMismatch));
  EXPECT_FALSE(link_->Ready(*vote));
  EXPECT_FALSE(link_->LeftNoVote(*vote));
  absl::StatusOr<Decision> decision = absl::UnknownError("");
  std::thread waiter([&] { decision = link_->Await(vote); });
  while (server_->votes().size() < 2) {
    link_->Tick();
    std::this_thread::yield();
  }
  server_->events()->OnVote(server_->votes().back(), Decision{.step = 1},
                            std::nullopt);
  waiter.join();
  EXPECT_THAT(decision, IsOk());
}

TEST(MockConnectionTest, AWorkerOfATestWithoutStreamsIsToldSo) {
  auto connection = std::make_shared<::testing::NiceMock<MockConnection>>();
  auto link = std::make_shared<WorkerLink>(
      connection, SessionRef{},
      LinkOptions{.clock = std::make_shared<FakeClock>(),
                  .random = [] { return 0.5; }});
  link->Joined({.worker = "w0", .incarnation = 1},
               {.incarnation = 1, .lease_ttl = absl::Seconds(30)},
               absl::FromUnixSeconds(1000));
  link->Tick();
  EXPECT_EQ(link->AwaitOpen().status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace lossscaler::internal
