// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What the sqlite store promises beyond every store: to last.

#include "store/sqlite_store.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/solo.h"
#include "sqlite_fixture.h"
#include "store_fixture.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using SqliteStoreTest = SqliteTest;

TEST_F(SqliteStoreTest, HasEverythingAfterReopening) {
  std::unique_ptr<Store> store = MustOpen();
  const Write write =
      NextStep(Put(store.get(), Creation(NewState("team/run", "u1"))));
  Put(store.get(), write);
  const Write deletion =
      DeletionOf(Put(store.get(), Creation(NewState("gone", "u2"))), "d1");
  Put(store.get(), deletion);
  store.reset();

  store = MustOpen();
  const absl::StatusOr<std::vector<StoredSession>> all = store->LoadAll();
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).state, write.state);
  EXPECT_THAT(all->at(0).recent, ElementsAre(*write.decision));
  EXPECT_THAT(store->FindDecisionByRequest("u1", "u1-vote-1"),
              IsOkAndHolds(Optional(*write.decision)));
  EXPECT_THAT(store->FindDeletion("d1"),
              IsOkAndHolds(Optional(*deletion.deletion)));
  Put(store.get(), NextStep(write.state));
}

TEST_F(SqliteStoreTest, CountsItsStarts) {
  EXPECT_EQ(MustOpen()->start_count(), 1);
  EXPECT_EQ(MustOpen()->start_count(), 2);
  EXPECT_EQ(MustOpen()->start_count(), 3);
}

TEST_F(SqliteStoreTest, FinishesWhatIsQueuedWhenItIsDestroyed) {
  std::vector<std::future<Answer>> answers;
  std::unique_ptr<Store> store = MustOpen();
  SessionState state = NewState("run", "u1");
  answers.push_back(CommitAsync(store.get(), Creation(state)));
  for (int i = 0; i < 200; ++i) {
    Write write = NextStep(state);
    state = write.state;
    answers.push_back(CommitAsync(store.get(), std::move(write)));
  }
  store.reset();
  for (std::future<Answer>& answer : answers) {
    EXPECT_EQ(answer.get().result, WriteResult::kDone);
  }
  EXPECT_EQ(MustOpen()->Reload("u1").value()->state, state);
}

TEST_F(SqliteStoreTest, LeavesOneFileAndTheLockWhenItIsDestroyed) {
  const auto store_and_close = [this] {
    const std::unique_ptr<Store> store = MustOpen();
    Put(store.get(), Creation(NewState("run", "u1")));
  };
  store_and_close();
  EXPECT_THAT(Contents(),
              UnorderedElementsAre(Pair("lossscaler.db", ::testing::_),
                                   Pair("lock", ::testing::_)));
}

TEST_F(SqliteStoreTest, KeepsItsFilesToTheOwner) {
  const std::unique_ptr<Store> store = MustOpen();
  Put(store.get(), Creation(NewState("run", "u1")));
  ASSERT_GE(Contents().size(), 3u);
  for (const auto& [name, bytes] : Contents()) {
    struct stat found;
    ASSERT_EQ(stat((folder() + "/" + name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777u, 0600u) << name;
  }
}

TEST_F(SqliteStoreTest, AnswersInTheOrderOfTheCalls) {
  // What waits while the first transaction is being committed becomes one
  // group: hold that one until everything is queued.
  std::promise<void> everything_queued;
  std::shared_future<void> queued = everything_queued.get_future().share();
  SqliteOptions options;
  int transactions = 0;
  options.before_commit = [&transactions, queued] {
    if (++transactions == 1) queued.wait();
    return SQLITE_OK;
  };
  std::vector<std::int64_t> order;
  {
    const std::unique_ptr<Store> store = MustOpen(options);
    SessionState state = NewState("run", "u1");
    std::future<Answer> first = CommitAsync(store.get(), Creation(state));
    for (std::int64_t step = 1; step <= 20; ++step) {
      Write write = NextStep(state);
      state = write.state;
      store->Commit(std::move(write),
                    [&order, step](WriteResult result, absl::Status) {
                      if (result == WriteResult::kDone) order.push_back(step);
                    });
    }
    everything_queued.set_value();
    EXPECT_EQ(first.get().result, WriteResult::kDone);
  }
  ASSERT_EQ(order.size(), 20u);
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], static_cast<std::int64_t>(i) + 1);
  }
  // The first alone, or with some of the others; the rest together.
  EXPECT_LE(transactions, 2) << "waiting writes must share a transaction";
}

TEST_F(SqliteStoreTest, AnswersALonelyRelaxedWriteBeforeTheCallReturns) {
  const std::unique_ptr<Store> store =
      MustOpen({.durability = Durability::kRelaxed, .boot_id = "a"});
  std::thread::id answered_by;
  store->Commit(Creation(NewState("run", "u1")),
                [&](WriteResult result, const absl::Status&) {
                  EXPECT_EQ(result, WriteResult::kDone);
                  answered_by = std::this_thread::get_id();
                });
  EXPECT_TRUE(answered_by == std::this_thread::get_id());
}

TEST_F(SqliteStoreTest, GroupsRelaxedWritesThatComeDuringATransaction) {
  Store* writing = nullptr;
  int transactions = 0;
  std::vector<std::future<Answer>> meanwhile;
  SqliteOptions options = {.durability = Durability::kRelaxed, .boot_id = "a"};
  options.before_commit = [&] {
    if (++transactions > 1) return SQLITE_OK;
    for (const char* const uid : {"u2", "u3", "u4"}) {
      meanwhile.push_back(CommitAsync(writing, Creation(NewState(uid, uid))));
    }
    return SQLITE_OK;
  };
  const std::unique_ptr<Store> store = MustOpen(options);
  writing = store.get();
  Put(store.get(), Creation(NewState("u1", "u1")));
  for (std::future<Answer>& answer : meanwhile) {
    EXPECT_EQ(answer.get().result, WriteResult::kDone);
  }
  EXPECT_EQ(transactions, 2);
}

TEST_F(SqliteStoreTest, MovesALongLogIntoTheDatabase) {
  const auto size = [this] {
    return std::filesystem::file_size(folder() + "/lossscaler.db");
  };
  for (const Durability durability :
       {Durability::kFull, Durability::kRelaxed}) {
    const std::unique_ptr<Store> store =
        MustOpen({.durability = durability, .boot_id = "a"});
    const std::string uid = absl::StrCat("u", static_cast<int>(durability));
    SessionState state = Put(store.get(), Creation(NewState(uid, uid)));
    const std::uintmax_t before = size();
    // A write takes a few pages; a thousand pages are long.
    for (int i = 0; i < 5000 && size() == before; ++i) {
      state = Put(store.get(), NextStep(state));
    }
    EXPECT_GT(size(), before);
  }
}

TEST_F(SqliteStoreTest, CommitsTheRestOfAGroupWhenOneWriteIsRefused) {
  std::promise<void> everything_queued;
  std::shared_future<void> queued = everything_queued.get_future().share();
  SqliteOptions options;
  options.before_commit = [queued] {
    queued.wait();
    return SQLITE_OK;
  };
  const std::unique_ptr<Store> store = MustOpen(options);
  const SessionState a = NewState("a", "u1");
  const SessionState b = NewState("b", "u2");
  std::vector<std::future<Answer>> answers;
  answers.push_back(CommitAsync(store.get(), Creation(a)));
  answers.push_back(CommitAsync(store.get(), Creation(b)));
  answers.push_back(CommitAsync(store.get(), NextStep(a)));
  answers.push_back(CommitAsync(store.get(), NextStep(a)));
  // Its state could be changed, but not its journal.
  Write again = NextStep(NextStep(a).state);
  again.decision->step = 1;
  answers.push_back(CommitAsync(store.get(), again));
  answers.push_back(CommitAsync(store.get(), NextStep(b)));
  everything_queued.set_value();
  std::vector<WriteResult> results;
  for (std::future<Answer>& answer : answers) {
    results.push_back(answer.get().result);
  }
  EXPECT_THAT(results, ElementsAre(WriteResult::kDone, WriteResult::kDone,
                                   WriteResult::kDone, WriteResult::kNotDone,
                                   WriteResult::kNotDone, WriteResult::kDone));
  EXPECT_EQ(store->Reload("u1").value()->state, NextStep(a).state);
  EXPECT_EQ(store->Reload("u2").value()->state, NextStep(b).state);
}

TEST_F(SqliteStoreTest, PrunesTheJournalByCount) {
  SqliteOptions options;
  options.journal_decisions = 1500;
  const std::unique_ptr<Store> store = MustOpen(options);
  PutSteps(store.get(), Put(store.get(), Creation(NewState("run", "u1"))),
           2560);
  // 2,560 is a multiple of kPruneInterval, and earlier prunes never had more to
  // remove than one prune may.
  EXPECT_EQ(Sql("SELECT min(step) FROM decisions"), 2560 - 1500 + 1);
  EXPECT_EQ(Sql("SELECT count(*) FROM decisions"), 1500);
}

TEST_F(SqliteStoreTest, NeverPrunesWhatCanBeReplayed) {
  SqliteOptions options;
  options.journal_decisions = 1;
  options.journal_age = absl::ZeroDuration();
  const std::unique_ptr<Store> store = MustOpen(options);
  PutSteps(store.get(), Put(store.get(), Creation(NewState("run", "u1"))),
           1536);
  EXPECT_EQ(Sql("SELECT min(step) FROM decisions"),
            1536 - kReplayableDecisions + 1);
}

TEST_F(SqliteStoreTest, PrunesTheJournalByAge) {
  // Decisions are a second apart (TimeOfStep).
  SqliteOptions options;
  options.journal_age = absl::Seconds(1300);
  const std::unique_ptr<Store> store = MustOpen(options);
  PutSteps(store.get(), Put(store.get(), Creation(NewState("run", "u1"))),
           2048);
  EXPECT_EQ(Sql("SELECT min(step) FROM decisions"), 2048 - 1300);
}

TEST_F(SqliteStoreTest, PrunesOneSessionWithoutTouchingAnother) {
  SqliteOptions options;
  options.journal_decisions = 1024;
  const std::unique_ptr<Store> store = MustOpen(options);
  PutSteps(store.get(), Put(store.get(), Creation(NewState("other", "u2"))), 3);
  PutSteps(store.get(), Put(store.get(), Creation(NewState("run", "u1"))),
           1280);
  EXPECT_EQ(Sql("SELECT count(*) FROM decisions WHERE session_uid = 'u2'"), 3);
  EXPECT_EQ(Sql("SELECT count(*) FROM decisions WHERE session_uid = 'u1'"),
            1024);
}

TEST_F(SqliteStoreTest, KeepsAJournalThatPeopleCanQuery) {
  const std::unique_ptr<Store> store = MustOpen();
  Write write = NextStep(Put(store.get(), Creation(NewState("run", "u1"))));
  write.decision->outcome = Outcome::kSkipOverflow;
  write.decision->reason = DecisionReason::kOverflow;
  Put(store.get(), write);
  EXPECT_EQ(Sql("SELECT count(*) FROM decisions JOIN sessions ON uid = "
                "session_uid WHERE name = 'run' AND step = 1 AND outcome = "
                "'SKIP_OVERFLOW' AND reason = 'OVERFLOW' AND request_id = "
                "'u1-vote-1'"),
            1);
  EXPECT_EQ(Sql("SELECT decide_time FROM decisions"), 1'767'323'046'678'901);
}

}  // namespace
}  // namespace lossscaler::server
