// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// An sqlite store that cannot write: nothing is lost, and it recovers.

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/error.h"
#include "sqlite_fixture.h"
#include "store_fixture.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::Eq;

class SqliteFailureTest : public SqliteTest {
 protected:
  static constexpr std::int64_t kNoLimit = 4'294'967'294;

  SqliteFailureTest() {
    options_.probe_interval = absl::Milliseconds(1);
    options_.max_page_count = [this] { return max_pages_.load(); };
    options_.before_commit = [this] {
      const int code = commit_result_;
      if (code != SQLITE_OK && --commits_to_fail_ == 0) {
        commit_result_ = SQLITE_OK;
      }
      return code;
    };
  }

  // The next `count` transactions, probes included, end with `code`.
  void FailCommits(int code, int count) {
    commits_to_fail_ = count;
    commit_result_ = code;
  }

  static void WaitUntilHealthy(Store* store) {
    while (!store->Health().ok()) std::this_thread::yield();
  }

  static SessionState Stored(Store* store, const std::string& uid) {
    const absl::StatusOr<std::optional<StoredSession>> stored =
        store->Reload(uid);
    EXPECT_THAT(stored, IsOk());
    return stored.ok() && stored->has_value() ? (*stored)->state
                                              : SessionState();
  }

  static constexpr int kForEver = 1'000'000'000;

  SqliteOptions options_;
  std::atomic<std::int64_t> max_pages_ = kNoLimit;
  std::atomic<int> commit_result_ = SQLITE_OK;
  std::atomic<int> commits_to_fail_ = 0;
};

TEST_F(SqliteFailureTest, LosesNothingWhenTheDiskIsFull) {
  std::unique_ptr<Store> store = MustOpen(options_);
  SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  max_pages_ = Sql("PRAGMA page_count") + 4;

  std::optional<Answer> refused;
  for (int i = 0; i < 10'000 && !refused; ++i) {
    Answer answer = Commit(store.get(), NextStep(state));
    if (answer.result == WriteResult::kDone) {
      state = NextStep(state).state;
    } else {
      refused = answer;
    }
  }
  ASSERT_TRUE(refused.has_value()) << "the database never became full";
  EXPECT_EQ(refused->result, WriteResult::kNotDone);
  EXPECT_THAT(refused->status, IsError(Reason::kStoreUnavailable));
  EXPECT_TRUE(RetryDelayOf(refused->status).has_value());
  EXPECT_THAT(store->Health(), IsError(Reason::kStoreUnavailable));
  EXPECT_EQ(Stored(store.get(), "u1"), state);

  max_pages_ = kNoLimit;
  WaitUntilHealthy(store.get());
  state = Put(store.get(), NextStep(state));
  store.reset();
  EXPECT_EQ(Stored(MustOpen().get(), "u1"), state);
}

TEST_F(SqliteFailureTest, IsHealthyAgainAfterAWriteThatSucceeds) {
  options_.probe_interval = absl::Hours(1);
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  FailCommits(SQLITE_FULL, 1);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kNotDone);
  EXPECT_THAT(store->Health(), IsError(Reason::kStoreUnavailable));
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kDone);
  EXPECT_THAT(store->Health(), IsOk());
}

TEST_F(SqliteFailureTest, WritesNothingOfAGroupThatDoesNotFit) {
  // The first transaction is held until the others are queued behind it, so
  // that these become one group.
  std::promise<void> first_begun;
  std::promise<void> others_queued;
  bool first = true;
  options_.before_commit = [&] {
    if (std::exchange(first, false)) {
      first_begun.set_value();
      others_queued.get_future().wait();
    }
    return SQLITE_OK;
  };
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState a = NewState("a", "u1");
  const SessionState b = NewState("b", "u2");
  std::vector<std::future<Answer>> answers;
  answers.push_back(CommitAsync(store.get(), Creation(a)));
  first_begun.get_future().wait();
  // A megabyte needs 256 pages of 4 KiB, more than there is room for.
  max_pages_ = Sql("PRAGMA page_count") + 40;
  Write large = NextStep(a);
  large.decision->explanation.assign(1 << 20, 'x');
  answers.push_back(CommitAsync(store.get(), large));
  answers.push_back(CommitAsync(store.get(), Creation(b)));
  others_queued.set_value();
  EXPECT_EQ(answers[0].get().result, WriteResult::kDone);
  // SQLite gives up the transaction: neither is there, and both say so.
  EXPECT_EQ(answers[1].get().result, WriteResult::kNotDone);
  EXPECT_EQ(answers[2].get().result, WriteResult::kNotDone);
  EXPECT_TRUE(Stored(store.get(), "u1") == a);
  EXPECT_THAT(store->Reload("u2"), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_EQ(Commit(store.get(), Creation(b)).result, WriteResult::kDone);
}

TEST_F(SqliteFailureTest, StaysIllWhileOnlyConflictsComeIn) {
  options_.probe_interval = absl::Hours(1);
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState created = NewState("run", "u1");
  const SessionState state = Put(store.get(), Creation(created));
  FailCommits(SQLITE_FULL, 1);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kNotDone);
  EXPECT_EQ(Commit(store.get(), Creation(created)).result,
            WriteResult::kNotDone);
  EXPECT_THAT(store->Health(), IsError(Reason::kStoreUnavailable));
}

TEST_F(SqliteFailureTest, KnowsThatABusyDatabaseWroteNothing) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  FailCommits(SQLITE_BUSY, 1);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kNotDone);
  EXPECT_EQ(Stored(store.get(), "u1"), state);
}

TEST_F(SqliteFailureTest, SaysThatItDoesNotKnowAfterAnErrorInCommit) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  FailCommits(SQLITE_IOERR_FSYNC, 1);
  const Answer answer = Commit(store.get(), NextStep(state));
  EXPECT_EQ(answer.result, WriteResult::kUnknown);
  EXPECT_THAT(answer.status, IsError(Reason::kStoreUnavailable));
  // The answer came after a probe had settled the matter.
  EXPECT_EQ(Stored(store.get(), "u1"), state);
  EXPECT_THAT(store->Health(), IsOk());
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kDone);
}

TEST_F(SqliteFailureTest, DoesNotReloadWhileTheLastWriteIsInDoubt) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  FailCommits(SQLITE_IOERR_FSYNC, kForEver);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kUnknown);
  EXPECT_THAT(store->Reload("u1"), IsError(Reason::kStoreUnavailable));
  EXPECT_THAT(store->Health(), IsError(Reason::kStoreUnavailable));

  // A transaction that is surely rolled back settles nothing.
  FailCommits(SQLITE_BUSY, kForEver);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kNotDone);
  EXPECT_THAT(store->Reload("u1"), IsError(Reason::kStoreUnavailable));

  FailCommits(SQLITE_OK, 0);
  WaitUntilHealthy(store.get());
  EXPECT_EQ(Stored(store.get(), "u1"), state);
}

TEST_F(SqliteFailureTest, WaitsForAnotherProgramThatReads) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN; SELECT * FROM sessions", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kDone);
  sqlite3_close(other);
}

TEST_F(SqliteFailureTest, RefusesWritesWhileAnotherProgramWrites) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kNotDone);
  EXPECT_THAT(store->Health(), IsError(Reason::kStoreUnavailable));
  sqlite3_close(other);
  WaitUntilHealthy(store.get());
  EXPECT_EQ(Commit(store.get(), NextStep(state)).result, WriteResult::kDone);
}

TEST_F(SqliteFailureTest, ReportsARecordThatWasDamagedWhileItRan) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  PutSteps(store.get(), Put(store.get(), Creation(NewState("run", "u1"))), 2);
  Sql("UPDATE decisions SET decision = x'ffff' WHERE step = 1");
  EXPECT_THAT(store->FindDecision("u1", 1), IsError(Reason::kStoreUnavailable));
  EXPECT_EQ(store->FindDecision("u1", 2).value()->step, 2);
}

TEST_F(SqliteFailureTest, LeavesNothingOfItsProbes) {
  const std::unique_ptr<Store> store = MustOpen(options_);
  const SessionState state = Put(store.get(), Creation(NewState("run", "u1")));
  FailCommits(SQLITE_FULL, 1);
  Commit(store.get(), NextStep(state));
  WaitUntilHealthy(store.get());
  EXPECT_EQ(Sql("SELECT count(*) FROM probes"), 0);
}

}  // namespace
}  // namespace lossscaler::server
