// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// WorkerServer: a group session for the client's workers, by the rules of the
// coordinator, in memory and without gRPC. Its network does what a test says.
//
// Nothing is told to a worker before Deliver(), which a test calls, or a
// Dispatcher does all the time.

#ifndef LOSSSCALER_TESTS_TESTING_WORKER_SERVER_H_
#define LOSSSCALER_TESTS_TESTING_WORKER_SERVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "lossscaler/client/mocks/mock_connection.h"
#include "lossscaler/sync/mutex.h"
#include "testing/group_driver.h"

namespace lossscaler::testing {

class WorkerServer : public ::testing::NiceMock<MockConnection> {
 public:
  explicit WorkerServer(const GroupConfig& config,
                        const LossScaler& scaler = GoldenScaler())
      : driver_(config, scaler) {}

  // Uses the session's own state; nobody is told before Deliver().
  template <typename Use>
  auto With(Use use) {
    MutexLock lock(&mutex_);
    if constexpr (std::is_void_v<decltype(use(driver_))>) {
      use(driver_);
      Settled();
    } else {
      auto result = use(driver_);
      Settled();
      return result;
    }
  }

  // Tells what there is to tell; false if that was nothing.
  bool Deliver() {
    std::deque<std::function<void()>> events;
    {
      MutexLock lock(&mutex_);
      events.swap(events_);
      events.insert(events.end(), ends_.begin(), ends_.end());
      ends_.clear();
    }
    for (const std::function<void()>& event : events) event();
    return !events.empty();
  }

  // Ends every stream. What was not delivered is lost, but for their ends.
  void Cut(const absl::Status& status) {
    MutexLock lock(&mutex_);
    CutAll(status);
  }
  // Kills the server and starts it again: undecided votes are gone.
  void Restart() {
    MutexLock lock(&mutex_);
    driver_.Restart();
    CutAll(absl::UnavailableError("the server was killed"));
  }
  // While set, a new stream ends with it.
  void Refuse(const absl::Status& status) {
    MutexLock lock(&mutex_);
    refusal_ = status;
  }
  // While set, nothing that a worker sends arrives.
  void Swallow(bool swallow) {
    MutexLock lock(&mutex_);
    swallow_ = swallow;
  }

  // What has arrived.
  int votes() const {
    MutexLock lock(&mutex_);
    return votes_;
  }
  int heartbeats() const {
    MutexLock lock(&mutex_);
    return heartbeats_;
  }
  int streams() const {
    MutexLock lock(&mutex_);
    return static_cast<int>(streams_.size());
  }

  absl::StatusOr<SessionInfo> GetSession(const SessionRef&) override {
    MutexLock lock(&mutex_);
    SessionInfo info;
    info.name = driver_.state().name;
    info.uid = driver_.state().uid;
    info.config = driver_.state().config;
    info.scaler = driver_.state().scaler;
    info.current = driver_.state().current();
    return info;
  }

  absl::StatusOr<JoinAnswer> JoinSession(const SessionRef&,
                                         const JoinEvent& join) override {
    MutexLock lock(&mutex_);
    const absl::StatusOr<WorkerRef> worker = driver_.Join(join);
    Settled();
    if (!worker.ok()) return worker.status();
    return JoinAnswer{.incarnation = worker->incarnation,
                      .resume_token = driver_.TokenOf(*worker),
                      .lease_ttl = driver_.core().group().config.lease_ttl,
                      .membership = MembershipOf(*worker),
                      .session_uid = driver_.state().uid};
  }

  absl::Status LeaveSession(const SessionRef&,
                            const WorkerRef& worker) override {
    MutexLock lock(&mutex_);
    const absl::Status status = driver_.Leave(worker);
    Settled();
    return status;
  }

  std::shared_ptr<WorkerStream> Participate(
      const SessionRef&, const WorkerRef& worker,
      std::shared_ptr<WorkerStreamEvents> events) override {
    MutexLock lock(&mutex_);
    const std::int64_t id = static_cast<std::int64_t>(streams_.size());
    streams_.push_back({.worker = worker, .events = std::move(events)});
    Peer& peer = streams_.back();
    if (!refusal_.ok()) {
      Close(&peer, refusal_);
    } else if (!swallow_) {
      const absl::Status status =
          driver_.core().KeepAlive(worker, driver_.now());
      if (ReasonOf(status) == Reason::kFenced) {
        Close(&peer, status);
      } else {
        events_.push_back([to = peer.events, told = MembershipOf(worker)] {
          to->OnOpened(told);
        });
      }
    }
    return std::make_shared<Stream>(this, id);
  }

 private:
  struct Peer {
    WorkerRef worker;
    // Null once it has ended.
    std::shared_ptr<WorkerStreamEvents> events;
    // Sequence numbers of votes by call.
    std::map<CallId, std::int64_t> waiting = {};
  };

  class Stream : public WorkerStream {
   public:
    Stream(WorkerServer* server, std::int64_t id) : server_(server), id_(id) {}
    ~Stream() override { Cancel(); }
    void SendHeartbeat(std::int64_t sequence,
                       const std::optional<Checkpoint>& checkpoint) override {
      server_->Heartbeat(id_, sequence, checkpoint);
    }
    void SendVote(std::int64_t sequence, std::int64_t step,
                  const Vote& vote) override {
      server_->TakeVote(id_, sequence, step, vote);
    }
    void Cancel() override {
      MutexLock lock(&server_->mutex_);
      server_->Close(&server_->streams_[id_], absl::CancelledError());
    }

   private:
    WorkerServer* const server_;
    const std::int64_t id_;
  };

  void Heartbeat(std::int64_t id, std::int64_t sequence,
                 const std::optional<Checkpoint>& checkpoint) {
    MutexLock lock(&mutex_);
    Peer& peer = streams_[id];
    if (swallow_ || !peer.events) return;
    ++heartbeats_;
    driver_.core().KeepAlive(peer.worker, driver_.now()).IgnoreError();
    absl::Status refused;
    if (checkpoint) refused = driver_.Present(peer.worker, *checkpoint);
    events_.push_back([to = peer.events, sequence, refused,
                       told = MembershipOf(peer.worker)] {
      to->OnHeartbeat(sequence, told, refused);
    });
    Settled();
  }

  void TakeVote(std::int64_t id, std::int64_t sequence, std::int64_t step,
                const Vote& vote) {
    MutexLock lock(&mutex_);
    Peer& peer = streams_[id];
    if (swallow_ || !peer.events) return;
    ++votes_;
    peer.waiting[driver_.Send(peer.worker, step, vote)] = sequence;
    Settled();
  }

  void Settled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    driver_.Settle();
    for (Peer& peer : streams_) {
      if (!peer.events) continue;
      for (auto it = peer.waiting.begin(); it != peer.waiting.end();) {
        const absl::StatusOr<Decision>* answer = driver_.AnswerTo(it->first);
        if (answer == nullptr) {
          ++it;
          continue;
        }
        events_.push_back([to = peer.events, sequence = it->second,
                           answer = *answer,
                           current = driver_.state().current()] {
          to->OnVote(sequence, answer, current);
        });
        it = peer.waiting.erase(it);
      }
      const absl::Status member =
          driver_.core().Find(peer.worker, driver_.now()).status();
      if (!member.ok()) {
        Close(&peer, member);
        continue;
      }
      events_.push_back([to = peer.events, told = MembershipOf(peer.worker)] {
        to->OnChanged(told);
      });
    }
  }

  void Close(Peer* peer, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!peer->events) return;
    ends_.push_back([to = std::exchange(peer->events, nullptr), status] {
      to->OnClosed(status);
    });
  }

  void CutAll(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    events_.clear();
    for (Peer& peer : streams_) Close(&peer, status);
  }

  Membership MembershipOf(const WorkerRef& worker) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Membership membership;
    const absl::StatusOr<MemberView> view =
        driver_.core().Find(worker, driver_.now());
    if (view.ok()) membership.state = view->member.state;
    membership.phase = driver_.core().phase();
    membership.current = driver_.state().current();
    membership.closed = driver_.core().why_closed();
    return membership;
  }

  mutable Mutex mutex_;
  GroupDriver driver_ ABSL_GUARDED_BY(mutex_);
  std::deque<Peer> streams_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> events_ ABSL_GUARDED_BY(mutex_);
  // The last events of streams; told after all others.
  std::deque<std::function<void()>> ends_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  bool swallow_ ABSL_GUARDED_BY(mutex_) = false;
  int votes_ ABSL_GUARDED_BY(mutex_) = 0;
  int heartbeats_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Delivers from a thread of its own for as long as it lives.
class Dispatcher {
 public:
  explicit Dispatcher(WorkerServer* server)
      : thread_([server](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (!server->Deliver()) std::this_thread::yield();
          }
          server->Deliver();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace lossscaler::testing

#endif  // LOSSSCALER_TESTS_TESTING_WORKER_SERVER_H_
