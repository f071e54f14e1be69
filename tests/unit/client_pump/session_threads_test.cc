// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Copies of a Session in many threads at once. What thread sanitizer watches.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/client/client.h"
#include "lossscaler/client/connection.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/solo.h"
#include "lossscaler/sync/mutex.h"

namespace lossscaler {
namespace {

// A server of one session, in memory, that loses every third answer.
class LossyServer : public Connection {
 public:
  absl::StatusOr<SessionInfo> CreateSession(const std::string&,
                                            const LossScaler&,
                                            IfExists) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<SessionInfo> GetSession(const SessionRef&) override {
    MutexLock lock(&mutex_);
    return Info();
  }
  absl::StatusOr<SessionPage> ListSessions(const std::string&, int,
                                           const std::string&) override {
    return absl::UnimplementedError("");
  }
  absl::Status DeleteSession(const SessionRef&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<RestoreAnswer> RestoreSession(
      const SessionRef&, const LossScaler& state,
      std::optional<std::int64_t> if_epoch,
      const std::string& request_id) override {
    MutexLock lock(&mutex_);
    absl::StatusOr<Decided> decided =
        lossscaler::Restore(state_, state, if_epoch, request_id, {});
    if (!decided.ok()) return decided.status();
    Take(*decided);
    return RestoreAnswer{.decision = journal_.back(), .session = Info()};
  }
  absl::StatusOr<ScaleLossAnswer> ScaleLoss(const ScaleLossCall&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<UnscaleAnswer> Unscale(const UnscaleCall&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<UpdateAnswer> Update(const UpdateCall& call) override {
    MutexLock lock(&mutex_);
    Vote vote = call.vote;
    vote.resolved = vote.verdict;
    absl::Status status = CheckStep(state_, *call.step);
    if (!status.ok()) return status;
    if (*call.step == state_.step) {
      absl::StatusOr<Decided> decided = Decide(state_, vote, {});
      if (!decided.ok()) return decided.status();
      Take(*decided);
    } else {
      status = CheckReplay(state_, journal_[*call.step - 1], vote);
      if (!status.ok()) return status;
    }
    if (++answers_ % 3 == 0) return absl::UnavailableError("lost");
    return UpdateAnswer{.decision = journal_[*call.step - 1],
                        .current = state_.current()};
  }
  absl::StatusOr<ServerInfo> GetServerInfo() override {
    return absl::UnimplementedError("");
  }

  std::int64_t decisions() const {
    MutexLock lock(&mutex_);
    return static_cast<std::int64_t>(journal_.size());
  }

 private:
  SessionInfo Info() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    SessionInfo info;
    info.name = state_.name;
    info.uid = state_.uid;
    info.config = info.scaler = state_.config;
    info.current = state_.current();
    return info;
  }
  void Take(const Decided& decided) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = decided.state;
    journal_.push_back(decided.decision);
  }

  mutable Mutex mutex_;
  SessionState state_ ABSL_GUARDED_BY(mutex_) =
      NewSession("run", "uid", *LossScaler::Dynamic(1024, 2, 1000), "r", {});
  std::vector<Decision> journal_ ABSL_GUARDED_BY(mutex_);
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(SessionThreadsTest, CopiesWorkAtOnceAndTheSessionGoesOn) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 50;
  auto server = std::make_shared<LossyServer>();
  Session session = *Client(server).GetSession("run");
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, session]() mutable {
      for (int n = 0; n < kSteps; ++n) {
        Step step = session.BeginStep();
        if (n % 5 == i) continue;  // Votes SKIP.
        step.AddVerdict({.element_count = 1});
        const absl::Status status = step.Update().status();
        // Other threads decide the same steps, and answers are lost.
        if (ReasonOf(status) == Reason::kResync) {
          session.set_base(session.current().base);
        } else if (!status.ok()) {
          EXPECT_TRUE(absl::IsUnavailable(status) ||
                      ReasonOf(status) == Reason::kVoteConflict)
              << status;
        }
        if (n % 10 == 0) session.Restore(session.config()).IgnoreError();
        if (n % 7 == 0) {
          EXPECT_TRUE(session.Refresh().ok());
        }
        EXPECT_GE(session.current().step, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  ASSERT_TRUE(session.Refresh().ok());
  EXPECT_EQ(session.current().step, server->decisions() + 1);
  // Whatever was lost, it goes on: no two answers in a row are.
  session.BeginStep().Abstain().IgnoreError();
  session.BeginStep().Abstain().IgnoreError();
  session.set_base(session.current().base);
  Step step = session.BeginStep();
  step.AddVerdict({.element_count = 1});
  absl::StatusOr<Decision> decision = step.Update();
  if (!decision.ok()) decision = step.Update();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->apply());
}

}  // namespace
}  // namespace lossscaler
