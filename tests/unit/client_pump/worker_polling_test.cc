// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Who reads a stream that has no thread of its own. The polls of these tests
// last until something comes or they are interrupted: a wakeup that is lost
// hangs the test.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/internal/worker_link.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/core/error.h"
#include "lossscaler/sync/mutex.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace lossscaler::internal {
namespace {

using ::lossscaler::testing::FakeClock;
using ::lossscaler::testing::IsOk;

Membership Open() {
  return {.state = MemberState::kActive, .phase = GroupPhase::kOpen};
}

// A stream whose events are those that the test gives it. Answers heartbeats.
class PolledStream : public WorkerStream {
 public:
  using Event = std::function<void(WorkerStreamEvents&)>;

  explicit PolledStream(std::shared_ptr<WorkerStreamEvents> events)
      : events_(std::move(events)) {
    Tell([](WorkerStreamEvents& to) { to.OnOpened(Open()); });
  }
  ~PolledStream() override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(poller_) << "destroyed under its poller";
  }

  void Tell(Event event) {
    MutexLock lock(&mutex_);
    to_come_.push_back(std::move(event));
    changed_.SignalAll();
  }
  void Answer(std::int64_t sequence) {
    Tell([sequence](WorkerStreamEvents& to) {
      to.OnVote(sequence, Decision{.step = 1}, std::nullopt);
    });
  }
  // Blocks until this thread polls, and has taken all there was.
  void AwaitPoller(std::thread::id thread) const {
    MutexLock lock(&mutex_);
    while (poller_ != thread || !to_come_.empty() || interrupted_) {
      changed_.Wait(&mutex_);
    }
  }
  void AwaitHeartbeats(int count) const {
    MutexLock lock(&mutex_);
    while (heartbeats_ < count || !to_come_.empty()) changed_.Wait(&mutex_);
  }
  std::int64_t last_vote() const {
    MutexLock lock(&mutex_);
    return last_vote_;
  }

  bool needs_polling() const override { return true; }
  void Poll(absl::Duration) override {
    Event event;
    MutexLock lock(&mutex_);
    EXPECT_FALSE(poller_) << "polled by two threads";
    poller_ = std::this_thread::get_id();
    changed_.SignalAll();
    while (to_come_.empty() && !interrupted_) changed_.Wait(&mutex_);
    if (!std::exchange(interrupted_, false)) {
      event = std::move(to_come_.front());
      MutexUnlock unlock(&mutex_);
      event(*events_);
    }
    if (event) to_come_.pop_front();
    poller_.reset();
    changed_.SignalAll();
  }
  void Interrupt() override {
    MutexLock lock(&mutex_);
    interrupted_ = true;
    changed_.SignalAll();
  }
  void SendHeartbeat(std::int64_t sequence,
                     const std::optional<Checkpoint>&) override {
    MutexLock lock(&mutex_);
    to_come_.push_back([sequence](WorkerStreamEvents& to) {
      to.OnHeartbeat(sequence, Open(), absl::OkStatus());
    });
    ++heartbeats_;
    changed_.SignalAll();
  }
  void SendVote(std::int64_t sequence, std::int64_t, const Vote&) override {
    MutexLock lock(&mutex_);
    last_vote_ = sequence;
  }
  void Cancel() override {}

 private:
  const std::shared_ptr<WorkerStreamEvents> events_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::deque<Event> to_come_ ABSL_GUARDED_BY(mutex_);
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::thread::id> poller_ ABSL_GUARDED_BY(mutex_);
  int heartbeats_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t last_vote_ ABSL_GUARDED_BY(mutex_) = 0;
};

class PolledServer : public ::testing::NiceMock<MockConnection> {
 public:
  std::shared_ptr<WorkerStream> Participate(
      const SessionRef&, const WorkerRef&,
      std::shared_ptr<WorkerStreamEvents> events) override {
    const auto stream = std::make_shared<PolledStream>(std::move(events));
    MutexLock lock(&mutex_);
    stream_ = stream;
    return stream;
  }
  // The last one, for as long as the link holds it.
  std::weak_ptr<PolledStream> stream() const {
    MutexLock lock(&mutex_);
    return stream_;
  }

 private:
  mutable Mutex mutex_;
  std::weak_ptr<PolledStream> stream_ ABSL_GUARDED_BY(mutex_);
};

class WorkerPollingTest : public ::testing::Test {
 protected:
  WorkerPollingTest() {
    Join();
    link_->Tick();
  }
  ~WorkerPollingTest() override { link_->Close(); }

  void Join() {
    link_->Joined({.worker = "w0", .incarnation = 1},
                  {.incarnation = 1,
                   .lease_ttl = absl::Seconds(30),
                   .membership = Open()},
                  clock_->Now());
  }
  std::shared_ptr<PendingVote> Cast() {
    return link_->Cast(1, {.verdict = Verdict::kFinite,
                           .scale_used = 1.0,
                           .base_session_uid = "uid",
                           .base = 0});
  }
  std::thread StartKeeper() {
    return std::thread([this] {
      while (link_->WaitForTick(link_->Tick())) {
      }
    });
  }
  std::shared_ptr<PolledStream> stream() const {
    return server_->stream().lock();
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<PolledServer> server_ = std::make_shared<PolledServer>();
  std::shared_ptr<WorkerLink> link_ = std::make_shared<WorkerLink>(
      server_, SessionRef{.name = "run", .uid = "uid"},
      LinkOptions{.clock = clock_, .random = [] { return 0.5; }});
};

TEST_F(WorkerPollingTest, TheThreadThatWaitsReads) {
  const auto vote = Cast();
  stream()->Answer(stream()->last_vote());
  EXPECT_THAT(link_->Await(vote), IsOk());
}

TEST_F(WorkerPollingTest, ClosingEndsAWaitThatPolls) {
  const auto vote = Cast();
  absl::Status status;
  std::thread waiter([&] { status = link_->Await(vote).status(); });
  stream()->AwaitPoller(waiter.get_id());
  link_->Close();
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WorkerPollingTest, ClosingEndsTheKeepersPoll) {
  std::thread keeper = StartKeeper();
  stream()->AwaitPoller(keeper.get_id());
  link_->Close();
  keeper.join();
}

TEST_F(WorkerPollingTest, OneThreadReadsForAllThatWaitAndAnotherTakesOver) {
  const auto first = Cast();
  const std::int64_t first_sequence = stream()->last_vote();
  const auto second = Cast();
  const std::int64_t second_sequence = stream()->last_vote();
  const auto third = Cast();
  const std::int64_t third_sequence = stream()->last_vote();
  std::thread one([&] { EXPECT_THAT(link_->Await(first), IsOk()); });
  stream()->AwaitPoller(one.get_id());
  std::thread two([&] { EXPECT_THAT(link_->Await(second), IsOk()); });
  std::thread three([&] { EXPECT_THAT(link_->Await(third), IsOk()); });
  stream()->Answer(second_sequence);
  two.join();
  stream()->AwaitPoller(one.get_id());
  stream()->Answer(first_sequence);
  one.join();
  stream()->AwaitPoller(three.get_id());
  stream()->Answer(third_sequence);
  three.join();
}

TEST_F(WorkerPollingTest, TheKeeperReadsWhileNobodyWaits) {
  std::thread keeper = StartKeeper();
  // A lease of 30 s: a heartbeat every 10 s.
  for (int i = 1; i <= 6; ++i) {
    stream()->AwaitPoller(keeper.get_id());
    clock_->Advance(absl::Seconds(10));
    stream()->Interrupt();  // The time that a poll may take is over.
    stream()->AwaitHeartbeats(i);
  }
  EXPECT_FALSE(link_->IsStale());
  link_->Close();
  keeper.join();
}

TEST_F(WorkerPollingTest, AWaitHearsWhatTheKeeperReads) {
  std::thread keeper = StartKeeper();
  stream()->AwaitPoller(keeper.get_id());
  const auto vote = Cast();
  std::thread waiter([&] { EXPECT_THAT(link_->Await(vote), IsOk()); });
  stream()->Answer(stream()->last_vote());
  waiter.join();
  link_->Close();
  keeper.join();
}

TEST_F(WorkerPollingTest, AWaitThatPollsGoesOnWithTheStreamOfTheNextJoin) {
  const auto vote = Cast();
  std::thread waiter([&] { EXPECT_THAT(link_->Await(vote), IsOk()); });
  stream()->AwaitPoller(waiter.get_id());
  const std::weak_ptr<PolledStream> former = server_->stream();
  Join();
  link_->Tick();
  stream()->AwaitPoller(waiter.get_id());
  EXPECT_TRUE(former.expired());
  // Cast again on the new one.
  stream()->Answer(stream()->last_vote());
  waiter.join();
}

TEST_F(WorkerPollingTest, ALostStreamsPollerReadsTheNextOne) {
  const auto vote = Cast();
  std::thread waiter([&] { EXPECT_THAT(link_->Await(vote), IsOk()); });
  stream()->AwaitPoller(waiter.get_id());
  const std::weak_ptr<PolledStream> former = server_->stream();
  former.lock()->Tell([](WorkerStreamEvents& to) {
    to.OnClosed(absl::UnavailableError("the server was killed"));
  });
  while (!former.expired()) std::this_thread::yield();
  clock_->Advance(absl::Seconds(2));
  link_->Tick();
  stream()->AwaitPoller(waiter.get_id());
  stream()->Answer(stream()->last_vote());
  waiter.join();
}

}  // namespace
}  // namespace lossscaler::internal
