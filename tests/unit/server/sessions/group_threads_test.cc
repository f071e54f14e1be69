// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A group whose workers are threads, over every store and with the alarm's own
// thread. Run under thread sanitizer too.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group.h"
#include "sessions/registry.h"
#include "store/open_store.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/votes.h"
#include "unit/server/sessions/witness.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsOk;
using ::testing::Eq;

constexpr int kWorkers = 8;
constexpr std::int64_t kSteps = 200;

class GroupThreadsTest : public ::testing::TestWithParam<std::string> {
 protected:
  GroupThreadsTest() {
    const std::string url =
        GetParam() == "memory"
            ? "memory"
            : absl::StrCat("sqlite:", directory_.path(), "/state");
    absl::StatusOr<std::unique_ptr<Store>> store =
        OpenStore(url, SqliteOptions());
    EXPECT_THAT(store, IsOk());
    store_ = *std::move(store);
    registry_ = std::make_unique<Registry>(store_.get(), Limits());
    EXPECT_THAT(registry_->Load(), IsOk());
  }
  ~GroupThreadsTest() override {
    registry_->Drain(MakeError(Reason::kDraining, "the test ends"));
    session_.reset();
    // The store's answers come to the registry.
    store_.reset();
    registry_.reset();
  }

  void Create(const GroupConfig& config) {
    Waiting<absl::StatusOr<Registry::Created>> created;
    registry_->Create(
        {.name = "run", .config = GoldenScaler(), .group = config},
        created.Callback());
    session_ = created.Wait()->session;
  }

  WorkerRef Join(const std::string& worker) {
    Waiting<absl::StatusOr<JoinAnswer>> joined;
    session_->Join({.worker = worker, .request_id = worker}, joined.Callback());
    const absl::StatusOr<JoinAnswer> answer = joined.Wait();
    EXPECT_THAT(answer, IsOk());
    return {worker, answer.ok() ? answer->incarnation : 0};
  }

  // What a worker's gradients of a step come to.
  static Verdict VerdictOf(int worker, std::int64_t step) {
    return (step * 7 + worker * 3) % 41 == 0 ? Verdict::kOverflow
                                             : Verdict::kFinite;
  }

  // Votes on every step, standing only on what it was told.
  void Train(int index, const WorkerRef& worker) {
    std::int64_t base = 0;
    double scale = GoldenScaler().scale();
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      Vote vote;
      vote.verdict = VerdictOf(index, step);
      vote.scale_used = scale;
      vote.base_session_uid = uid_;
      vote.base = base;
      // Now and then the caller gives up, and asks again; so does one that
      // came before the others had joined.
      bool give_up = (step + index) % 17 == 0;
      absl::StatusOr<UpdateAnswer> answer = absl::UnknownError("not asked");
      do {
        Waiting<absl::StatusOr<UpdateAnswer>> answered;
        PendingCall call =
            session_->CastVote(worker, step, vote, answered.Callback());
        if (std::exchange(give_up, false)) call.Cancel();
        answer = answered.Wait();
      } while (absl::IsCancelled(answer.status()) ||
               ReasonOf(answer.status()) == Reason::kSessionPaused);
      ASSERT_THAT(answer, IsOk());
      ASSERT_THAT(answer->decision.step, Eq(step));
      witness_.Saw(uid_, answer->decision);
      base = answer->decision.base_after;
      scale = answer->decision.scale_after;
    }
  }

  const lossscaler::testing::TempDirectory directory_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<Session> session_;
  std::string uid_;
  Witness witness_;
};

TEST_P(GroupThreadsTest, AllAreToldTheSame) {
  GroupConfig config;
  config.min_workers = config.max_workers = kWorkers;
  Create(config);
  uid_ = session_->Snapshot()->state.uid;

  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([this, i] { Train(i, Join(absl::StrCat("w", i))); });
  }
  // One that watches, and one that asks for everything else.
  std::int64_t watched = 0;
  threads.emplace_back([this, &watched] {
    const auto watch = *session_->Watch(1);
    while (watched < kSteps) {
      Waiting<absl::StatusOr<Decision>> next;
      watch->Next(next.Callback());
      const absl::StatusOr<Decision> decision = next.Wait();
      ASSERT_THAT(decision, IsOk());
      ASSERT_THAT(decision->step, Eq(++watched));
      witness_.Saw(uid_, *decision);
    }
  });
  std::atomic<bool> ended = false;
  std::thread curious([this, &ended] {
    while (!ended) {
      Waiting<absl::StatusOr<SessionSnapshot>> looked;
      session_->Look(looked.Callback());
      EXPECT_THAT(looked.Wait(), IsOk());
      EXPECT_THAT(session_->ListDecisions({.limit = 3}), IsOk());
      EXPECT_THAT(session_->ScaleOf(1), IsOk());
      registry_->RingDue();
    }
  });
  for (std::thread& thread : threads) thread.join();
  ended = true;
  curious.join();

  EXPECT_THAT(watched, Eq(kSteps));
  EXPECT_THAT(witness_.count(uid_), Eq(kSteps));
  const SessionSnapshot end = *session_->Snapshot();
  EXPECT_THAT(end.state.step, Eq(kSteps + 1));
  // Exactly the steps in which somebody overflowed were skipped.
  std::int64_t skipped = 0;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    bool overflow = false;
    for (int i = 0; i < kWorkers; ++i) {
      overflow = overflow || VerdictOf(i, step) == Verdict::kOverflow;
    }
    skipped += overflow;
  }
  EXPECT_THAT(end.state.skipped, Eq(skipped));
  EXPECT_THAT(end.state.applied, Eq(kSteps - skipped));
}

// Whoever waits when the server ends or the session goes is told, by whichever
// thread gets there first, exactly once.
TEST_P(GroupThreadsTest, EndingsReachEveryoneWhoWaits) {
  GroupConfig config;
  config.min_workers = config.max_workers = kWorkers;
  Create(config);
  uid_ = session_->Snapshot()->state.uid;
  std::vector<WorkerRef> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(Join(absl::StrCat("w", i)));
  }
  std::vector<std::thread> threads;
  // The last one never votes.
  for (int i = 0; i + 1 < kWorkers; ++i) {
    threads.emplace_back([this, i, &workers] {
      Vote vote;
      vote.verdict = Verdict::kFinite;
      vote.scale_used = GoldenScaler().scale();
      vote.base = 0;
      Waiting<absl::StatusOr<UpdateAnswer>> answered;
      session_->CastVote(workers[static_cast<std::size_t>(i)], 1, vote,
                         answered.Callback());
      const std::optional<Reason> reason = ReasonOf(answered.Wait().status());
      EXPECT_TRUE(reason == Reason::kDraining ||
                  reason == Reason::kSessionNotFound);
    });
  }
  threads.emplace_back([this] {
    registry_->Drain(MakeError(Reason::kDraining, "the server ends"));
  });
  threads.emplace_back([this] {
    Waiting<absl::Status> deleted;
    registry_->Delete("run", "", "", deleted.Callback());
    EXPECT_THAT(deleted.Wait(), IsOk());
  });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Stores, GroupThreadsTest,
                         ::testing::Values("memory", "sqlite"),
                         [](const auto& store) { return store.param; });

}  // namespace
}  // namespace lossscaler::server
