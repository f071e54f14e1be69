// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Many threads at once on one registry, over every store. Run under thread
// sanitizer too.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/solo.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/registry.h"
#include "store/open_store.h"
#include "testing/status_matchers.h"
#include "testing/votes.h"
#include "unit/server/sessions/witness.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::GoldenScaler;
using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::VoteOf;
using ::testing::Eq;

constexpr int kThreads = 6;

void InParallel(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

class ConcurrencyTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string folder =
        (std::filesystem::temp_directory_path() / "sessions-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    const std::string spec =
        GetParam() == "memory" ? "memory" : absl::StrCat("sqlite:", folder);
    absl::StatusOr<std::unique_ptr<Store>> store =
        OpenStore(spec, SqliteOptions());
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
    registry_ = std::make_unique<Registry>(store_.get(), Limits());
    ASSERT_THAT(registry_->Load(), IsOk());
  }

  void TearDown() override {
    // The store's last callbacks come back to the registry.
    store_.reset();
    registry_.reset();
    std::filesystem::remove_all(folder_);
  }

  absl::StatusOr<Registry::Created> Create(const std::string& name) {
    Waiting<absl::StatusOr<Registry::Created>> waiting;
    registry_->Create({.name = name, .config = GoldenScaler()},
                      waiting.Callback());
    return waiting.Wait();
  }
  absl::Status Delete(const std::string& name, const std::string& request_id) {
    Waiting<absl::Status> waiting;
    registry_->Delete(name, "", request_id, waiting.Callback());
    return waiting.Wait();
  }

  // Without a step the vote is a request of its own.
  absl::StatusOr<UpdateAnswer> Update(Session& session,
                                      std::optional<std::int64_t> step,
                                      Verdict verdict) {
    Vote vote = VoteOf(verdict);
    if (!step) vote.request_id = absl::StrCat("u", requests_++);
    Waiting<absl::StatusOr<UpdateAnswer>> waiting;
    session.Update(step, std::move(vote), waiting.Callback());
    return waiting.Wait();
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Registry> registry_;
  Witness witness_;
  std::atomic<int> requests_{0};
};

INSTANTIATE_TEST_SUITE_P(Stores, ConcurrencyTest,
                         ::testing::Values("memory", "sqlite"),
                         [](const auto& store) { return store.param; });

// Half of the threads vote otherwise than the other half, all on every step.
TEST_P(ConcurrencyTest, AStepIsDecidedOnceAndEverybodyHearsTheSame) {
  constexpr std::int64_t kSteps = 60;
  const auto created = Create("run");
  ASSERT_THAT(created, IsOk());
  const std::shared_ptr<Session> session = created->session;
  std::atomic<int> told = 0;
  std::atomic<int> conflicts = 0;
  InParallel([&](int thread) {
    const Verdict verdict =
        thread % 2 == 0 ? Verdict::kFinite : Verdict::kOverflow;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      const absl::StatusOr<UpdateAnswer> answer =
          Update(*session, step, verdict);
      if (answer.ok()) {
        ++told;
        EXPECT_THAT(answer->decision.step, Eq(step));
        EXPECT_THAT(answer->decision.votes.at(0).verdict, Eq(verdict));
        witness_.Saw("run", answer->decision);
      } else {
        ++conflicts;
        EXPECT_THAT(answer, IsError(Reason::kVoteConflict));
      }
    }
  });
  EXPECT_THAT(told + conflicts, Eq(kThreads * kSteps));
  // The half that decided a step is told, the other half is not.
  EXPECT_THAT(told.load(), Eq(kThreads / 2 * kSteps));
  EXPECT_THAT(witness_.count("run"), Eq(kSteps));
  EXPECT_THAT(session->Snapshot()->state.step, Eq(kSteps + 1));
  EXPECT_THAT(session->Snapshot()->state.attempted(), Eq(kSteps));
}

// Without a step every request is a decision of its own; restores and looks in
// between. No number is lost or used twice.
TEST_P(ConcurrencyTest, EveryDecisionHasANumberOfItsOwn) {
  constexpr int kRounds = 40;
  const auto created = Create("run");
  ASSERT_THAT(created, IsOk());
  const std::shared_ptr<Session> session = created->session;
  Mutex mutex;
  std::set<std::int64_t> steps;
  InParallel([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      Decision decision;
      if (thread == 0) {
        Waiting<absl::StatusOr<RestoreAnswer>> waiting;
        session->Restore(GoldenScaler(), std::nullopt, absl::StrCat("r", i),
                         waiting.Callback());
        const absl::StatusOr<RestoreAnswer> answer = waiting.Wait();
        ASSERT_THAT(answer, IsOk());
        decision = answer->decision;
      } else {
        const absl::StatusOr<UpdateAnswer> answer =
            Update(*session, std::nullopt, Verdict::kFinite);
        ASSERT_THAT(answer, IsOk());
        decision = answer->decision;
      }
      Waiting<absl::StatusOr<SessionSnapshot>> look;
      session->Look(look.Callback());
      const absl::StatusOr<SessionSnapshot> snapshot = look.Wait();
      ASSERT_THAT(snapshot, IsOk());
      // Whoever has seen a decision sees its state.
      EXPECT_GT(snapshot->state.step, decision.step);
      EXPECT_THAT(snapshot->last_decision->step + 1, Eq(snapshot->state.step));
      MutexLock lock(&mutex);
      EXPECT_TRUE(steps.insert(decision.step).second) << decision.step;
    }
  });
  MutexLock lock(&mutex);
  EXPECT_THAT(*steps.begin(), Eq(1));
  EXPECT_THAT(*steps.rbegin(), Eq(kThreads * kRounds));
  EXPECT_THAT(session->Snapshot()->state.epoch, Eq(kRounds + 1));
}

// Everything at once on a few names. A failure that the callers' race does not
// explain, or a session that registry and store do not agree about, fails.
TEST_P(ConcurrencyTest, CreatingAndDeletingLeavesRegistryAndStoreAgreed) {
  constexpr int kRounds = 120;
  std::atomic<int> created_count = 0;
  std::atomic<int> deleted_count = 0;
  InParallel([&](int thread) {
    std::minstd_rand random(static_cast<unsigned>(thread) + 1);
    for (int i = 0; i < kRounds; ++i) {
      const std::string name = absl::StrCat("run-", random() % 2);
      if (random() % 3 == 0) {
        const absl::Status status = Delete(name, absl::StrCat(thread, "-", i));
        if (status.ok()) ++deleted_count;
        EXPECT_TRUE(status.ok() || ReasonOf(status) == Reason::kSessionNotFound)
            << status;
        continue;
      }
      const auto created = Create(name);
      if (created.ok()) ++created_count;
      EXPECT_TRUE(created.ok() ||
                  ReasonOf(created.status()) == Reason::kSessionExists)
          << created.status();
      const auto session = registry_->Find(name, "");
      if (!session.ok()) continue;
      const std::optional<SessionSnapshot> before = (*session)->Snapshot();
      if (!before) continue;
      const absl::StatusOr<UpdateAnswer> answer =
          Update(**session, std::nullopt, Verdict::kFinite);
      if (answer.ok()) witness_.Saw(before->state.uid, answer->decision);
      EXPECT_TRUE(answer.ok() ||
                  ReasonOf(answer.status()) == Reason::kSessionNotFound)
          << answer.status();
    }
  });
  EXPECT_GT(created_count, 0);
  // What was created and not deleted is there: in both, in the same state.
  EXPECT_THAT(registry_->size(), Eq(created_count - deleted_count));
  Registry reloaded(store_.get(), Limits());
  ASSERT_THAT(reloaded.Load(), IsOk());
  EXPECT_THAT(reloaded.size(), Eq(registry_->size()));
  for (const std::shared_ptr<Session>& session : registry_->List("", "", 10)) {
    const std::optional<SessionSnapshot> live = session->Snapshot();
    ASSERT_TRUE(live.has_value());
    const auto stored = reloaded.Find(session->name(), live->state.uid);
    ASSERT_THAT(stored, IsOk());
    EXPECT_THAT((*stored)->Snapshot()->state, Eq(live->state));
    EXPECT_THAT(witness_.count(live->state.uid), Eq(live->state.step - 1));
  }
}

}  // namespace
}  // namespace lossscaler::server
