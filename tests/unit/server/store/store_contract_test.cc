// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What every store promises (store/store.h).

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lossscaler/core/decision.h"
#include "store/journal.h"
#include "store/open_store.h"
#include "store/store.h"
#include "store_fixture.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::IsError;
using ::lossscaler::testing::IsOk;
using ::lossscaler::testing::IsOkAndHolds;
using ::lossscaler::testing::TempDirectory;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

class StoreContractTest : public ::testing::TestWithParam<std::string> {
 protected:
  StoreContractTest() {
    const std::string spec = GetParam() == "memory"
                                 ? GetParam()
                                 : absl::StrCat("sqlite:", folder_.path());
    SqliteOptions options;
    if (GetParam() == "relaxed") options.durability = Durability::kRelaxed;
    absl::StatusOr<std::unique_ptr<Store>> store = OpenStore(spec, options);
    if (!store.ok()) {
      ADD_FAILURE() << store.status();
      std::abort();
    }
    store_ = *std::move(store);
  }

  Store* store() { return store_.get(); }

 private:
  TempDirectory folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreContractTest, SaysWhatItIs) {
  const std::map<std::string, std::pair<std::string, std::string>> expected = {
      {"memory", {"memory", "none"}},
      {"sqlite", {"sqlite", "full"}},
      {"relaxed", {"sqlite", "relaxed"}}};
  EXPECT_EQ(store()->name(), expected.at(GetParam()).first);
  EXPECT_EQ(store()->durability(), expected.at(GetParam()).second);
  EXPECT_EQ(store()->start_count(), 1);
  EXPECT_THAT(store()->Health(), IsOk());
}

TEST_P(StoreContractTest, StartsEmpty) {
  EXPECT_THAT(store()->LoadAll(), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store()->Reload("uid"), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDecision("uid", 1), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDecisionByRequest("uid", "request"),
              IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDeletion("request"), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_P(StoreContractTest, GivesBackStateAndDecisionAsWritten) {
  const SessionState created =
      Put(store(), Creation(NewState("team/run", "u1")));
  const Write write = NextStep(created);
  Put(store(), write);

  const absl::StatusOr<std::optional<StoredSession>> stored =
      store()->Reload("u1");
  ASSERT_THAT(stored, IsOk());
  ASSERT_TRUE(stored->has_value());
  EXPECT_EQ((*stored)->state, write.state);
  EXPECT_THAT((*stored)->recent, ElementsAre(*write.decision));
  EXPECT_THAT(store()->FindDecision("u1", 1),
              IsOkAndHolds(Optional(*write.decision)));
}

TEST_P(StoreContractTest, KeepsAStateThatMadeNoDecision) {
  SessionState state = Put(store(), Creation(NewState("run", "u1")));
  state.revision = 2;
  state.epoch = 5;
  Put(store(), Creation(state));
  const absl::StatusOr<std::optional<StoredSession>> stored =
      store()->Reload("u1");
  ASSERT_THAT(stored, IsOk());
  ASSERT_TRUE(stored->has_value());
  EXPECT_EQ((*stored)->state, state);
  EXPECT_THAT((*stored)->recent, IsEmpty());
}

TEST_P(StoreContractTest, LoadsSessionsInTheOrderOfNames) {
  // 'B' < 'a' and "a-b" < "a/b": bytes, not a collation.
  Put(store(), Creation(NewState("a/b", "u1")));
  Put(store(), Creation(NewState("a-b", "u2")));
  Put(store(), Creation(NewState("B", "u3")));
  const absl::StatusOr<std::vector<StoredSession>> all = store()->LoadAll();
  ASSERT_THAT(all, IsOk());
  std::vector<std::string> names;
  for (const StoredSession& session : *all) names.push_back(session.state.name);
  EXPECT_THAT(names, ElementsAre("B", "a-b", "a/b"));
}

TEST_P(StoreContractTest, LoadsTheLatestDecisionsOldestFirst) {
  SessionState state = Put(store(), Creation(NewState("run", "u1")));
  for (int i = 0; i < kDecisionsInMemory + 6; ++i) {
    state = Put(store(), NextStep(state));
  }
  Put(store(), NextStep(Put(store(), Creation(NewState("other", "u0")))));

  const absl::StatusOr<std::vector<StoredSession>> all = store()->LoadAll();
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->at(0).recent.size(), 1u);
  const std::vector<Decision>& recent = all->at(1).recent;
  ASSERT_EQ(recent.size(), static_cast<std::size_t>(kDecisionsInMemory));
  for (int i = 0; i < kDecisionsInMemory; ++i) {
    EXPECT_EQ(recent[static_cast<std::size_t>(i)].step, 7 + i);
  }
  EXPECT_EQ(all->at(1).state, state);
}

TEST_P(StoreContractTest, RefusesAWriteAgainstAnotherRevision) {
  const SessionState created = Put(store(), Creation(NewState("run", "u1")));
  const SessionState stored = Put(store(), NextStep(created));

  // The same write again, and one that skips a revision.
  Write ahead = NextStep(stored);
  ++ahead.state.revision;
  for (const Write& write : {NextStep(created), ahead}) {
    const Answer answer = Commit(store(), write);
    EXPECT_EQ(answer.result, WriteResult::kNotDone);
    EXPECT_THAT(answer.status, IsError(Reason::kStoreUnavailable));
  }
  const absl::StatusOr<std::optional<StoredSession>> after =
      store()->Reload("u1");
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ((*after)->state, stored);
  EXPECT_EQ((*after)->recent.size(), 1u);
  EXPECT_THAT(store()->FindDecision("u1", 2), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->Health(), IsOk()) << "a conflict is no failure";
}

TEST_P(StoreContractTest, RefusesToDecideAStepTwice) {
  const SessionState stored =
      Put(store(), NextStep(Put(store(), Creation(NewState("run", "u1")))));
  Write again = NextStep(stored);
  again.decision->step = 1;
  EXPECT_EQ(Commit(store(), again).result, WriteResult::kNotDone);
  const absl::StatusOr<std::optional<StoredSession>> after =
      store()->Reload("u1");
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ((*after)->state, stored) << "the state must not go on without it";
}

TEST_P(StoreContractTest, RefusesASecondSessionOfTheSameNameOrUid) {
  const SessionState first = Put(store(), Creation(NewState("run", "u1")));
  EXPECT_EQ(Commit(store(), Creation(NewState("run", "u2"))).result,
            WriteResult::kNotDone);
  EXPECT_EQ(Commit(store(), Creation(NewState("other", "u1"))).result,
            WriteResult::kNotDone);
  const absl::StatusOr<std::vector<StoredSession>> all = store()->LoadAll();
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).state, first);
}

TEST_P(StoreContractTest, RefusesToChangeASessionThatIsNotThere) {
  EXPECT_EQ(Commit(store(), NextStep(NewState("run", "u1"))).result,
            WriteResult::kNotDone);
  EXPECT_EQ(Commit(store(), DeletionOf(NewState("run", "u1"), "d")).result,
            WriteResult::kNotDone);
  EXPECT_THAT(store()->LoadAll(), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store()->FindDeletion("d"), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_P(StoreContractTest, FindsADecisionByTheRequestThatMadeIt) {
  const SessionState created = Put(store(), Creation(NewState("run", "u1")));
  const Write voted = NextStep(created);
  SessionState state = Put(store(), voted);
  Write restored = NextStep(state);
  restored.decision->outcome = Outcome::kAborted;
  restored.decision->reason = DecisionReason::kRestored;
  restored.decision->votes.clear();
  restored.decision->request_id = "restore-1";
  state = Put(store(), restored);
  Write anonymous = NextStep(state);
  anonymous.decision->votes[0].request_id = "";
  Put(store(), anonymous);

  EXPECT_THAT(store()->FindDecisionByRequest("u1", "u1-vote-1"),
              IsOkAndHolds(Optional(*voted.decision)));
  EXPECT_THAT(store()->FindDecisionByRequest("u1", "restore-1"),
              IsOkAndHolds(Optional(*restored.decision)));
  EXPECT_THAT(store()->FindDecisionByRequest("u2", "restore-1"),
              IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDecisionByRequest("u1", "restore-2"),
              IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDecisionByRequest("u1", ""),
              IsOkAndHolds(Eq(std::nullopt)));
}

TEST_P(StoreContractTest, FindsTheLaterDecisionOfARequestUsedTwice) {
  SessionState state = Put(store(), Creation(NewState("run", "u1")));
  Write write;
  for (int i = 0; i < 2; ++i) {
    write = NextStep(state);
    write.decision->votes[0].request_id = "same";
    state = Put(store(), write);
  }
  EXPECT_THAT(store()->FindDecisionByRequest("u1", "same"),
              IsOkAndHolds(Optional(*write.decision)));
}

// ---- Pages of the journal -----------------------------------------------

std::vector<std::int64_t> StepsOf(
    const absl::StatusOr<std::vector<Decision>>& decisions) {
  EXPECT_THAT(decisions, IsOk());
  std::vector<std::int64_t> steps;
  for (const Decision& decision : *decisions) steps.push_back(decision.step);
  return steps;
}

// Decides a step with one vote for each iteration; the state after it.
SessionState PutIterations(
    Store* store, const SessionState& before,
    const std::vector<std::optional<std::int64_t>>& iterations) {
  Write write = NextStep(before);
  write.decision->votes.clear();
  for (const std::optional<std::int64_t>& iteration : iterations) {
    write.decision->votes.push_back({.verdict = Verdict::kFinite,
                                     .iteration = iteration,
                                     .resolved = Verdict::kFinite});
  }
  return Put(store, write);
}

TEST_P(StoreContractTest, ListsDecisionsNewestFirst) {
  PutSteps(store(), Put(store(), Creation(NewState("run", "u1"))), 5);
  PutSteps(store(), Put(store(), Creation(NewState("other", "u2"))), 7);
  EXPECT_THAT(StepsOf(store()->ListDecisions("u1", 100, 3)),
              ElementsAre(5, 4, 3));
  EXPECT_THAT(StepsOf(store()->ListDecisions("u1", 3, 3)), ElementsAre(2, 1));
  EXPECT_THAT(StepsOf(store()->ListDecisions("u1", 1, 3)), IsEmpty());
  EXPECT_THAT(StepsOf(store()->ListDecisions("u3", 100, 3)), IsEmpty());
}

TEST_P(StoreContractTest, ReadsDecisionsOnFromAStep) {
  PutSteps(store(), Put(store(), Creation(NewState("run", "u1"))), 5);
  PutSteps(store(), Put(store(), Creation(NewState("other", "u2"))), 7);
  EXPECT_THAT(StepsOf(store()->ReadDecisions("u1", 1, 2)), ElementsAre(1, 2));
  EXPECT_THAT(StepsOf(store()->ReadDecisions("u1", 4, 9)), ElementsAre(4, 5));
  EXPECT_THAT(StepsOf(store()->ReadDecisions("u1", 6, 9)), IsEmpty());
  EXPECT_THAT(StepsOf(store()->ReadDecisions("u3", 1, 9)), IsEmpty());
}

TEST_P(StoreContractTest, FindsTheDecisionsOfAnIteration) {
  SessionState state = Put(store(), Creation(NewState("run", "u1")));
  state = PutIterations(store(), state, {7, 7});                // 1
  state = PutIterations(store(), state, {7, 8, std::nullopt});  // 2
  state = PutIterations(store(), state, {std::nullopt});        // 3
  state = PutIterations(store(), state, {std::nullopt, 7});     // 4
  state = PutIterations(store(), state, {0});                   // 5
  state = PutIterations(store(), state, {9, 7, 9});             // 6
  PutIterations(store(), Put(store(), Creation(NewState("other", "u2"))), {7});

  const auto list = [&](std::int64_t iteration, std::int64_t before,
                        int limit) {
    return StepsOf(
        store()->ListDecisionsByIteration("u1", iteration, before, limit));
  };
  EXPECT_THAT(list(7, 100, 100), ElementsAre(6, 4, 2, 1));
  EXPECT_THAT(list(7, 100, 2), ElementsAre(6, 4));
  EXPECT_THAT(list(7, 4, 100), ElementsAre(2, 1));
  EXPECT_THAT(list(8, 100, 100), ElementsAre(2));
  EXPECT_THAT(list(0, 100, 100), ElementsAre(5));
  EXPECT_THAT(list(10, 100, 100), IsEmpty());
}

TEST_P(StoreContractTest, KeepsAGroup) {
  SessionState state = NewState("run", "u1");
  state.group = GroupState{.config = {.min_workers = 1, .max_workers = 2},
                           .members = {{.worker = "w",
                                        .incarnation = 1,
                                        .resume_token = "token",
                                        .join_request_id = "join",
                                        .state = MemberState::kActive,
                                        .checkpoint = {}}},
                           .next_incarnation = 2,
                           .departed = {}};
  Put(store(), Creation(state));
  const auto stored = store()->Reload("u1");
  ASSERT_THAT(stored, IsOk());
  EXPECT_EQ((*stored)->state, state);
  EXPECT_EQ((*stored)->loss, 0);
}

TEST_P(StoreContractTest, DeletesASessionWithItsJournal) {
  const SessionState state =
      Put(store(), NextStep(Put(store(), Creation(NewState("run", "u1")))));
  const SessionState other =
      Put(store(), NextStep(Put(store(), Creation(NewState("other", "u2")))));
  const Write deletion = DeletionOf(state, "delete-1");
  Put(store(), deletion);

  EXPECT_THAT(store()->Reload("u1"), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDecision("u1", 1), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_THAT(store()->FindDeletion("delete-1"),
              IsOkAndHolds(Optional(*deletion.deletion)));
  EXPECT_THAT(store()->FindDeletion("delete-2"),
              IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_EQ(store()->Reload("u2").value()->state, other);
  EXPECT_EQ(store()->FindDecision("u2", 1).value()->step, 1);
}

TEST_P(StoreContractTest, RefusesToDeleteAnotherRevision) {
  const SessionState created = Put(store(), Creation(NewState("run", "u1")));
  Put(store(), NextStep(created));
  EXPECT_EQ(Commit(store(), DeletionOf(created, "d")).result,
            WriteResult::kNotDone);
  EXPECT_TRUE(store()->Reload("u1").value().has_value());
  EXPECT_THAT(store()->FindDeletion("d"), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_P(StoreContractTest, GivesTheNameOfADeletedSessionToANewOne) {
  const SessionState old = Put(store(), Creation(NewState("run", "u1")));
  Put(store(), DeletionOf(old, ""));
  const SessionState fresh = Put(store(), Creation(NewState("run", "u2")));
  const absl::StatusOr<std::vector<StoredSession>> all = store()->LoadAll();
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).state, fresh);
  EXPECT_THAT(store()->FindDeletion(""), IsOkAndHolds(Eq(std::nullopt)));
}

TEST_P(StoreContractTest, RemembersTheLatestDeletions) {
  std::vector<std::future<Answer>> answers;
  for (std::int64_t i = 0; i < kDeletionsKept + 1; ++i) {
    const SessionState state = NewState("run", absl::StrCat("u", i));
    answers.push_back(CommitAsync(store(), Creation(state)));
    answers.push_back(
        CommitAsync(store(), DeletionOf(state, absl::StrCat("d", i))));
  }
  for (std::future<Answer>& answer : answers) {
    ASSERT_EQ(answer.get().result, WriteResult::kDone);
  }
  EXPECT_THAT(store()->FindDeletion("d0"), IsOkAndHolds(Eq(std::nullopt)));
  EXPECT_TRUE(store()->FindDeletion("d1").value().has_value());
  EXPECT_TRUE(store()->FindDeletion(absl::StrCat("d", kDeletionsKept)).value());
}

TEST_P(StoreContractTest, CommitsFromManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      const std::string uid = absl::StrCat("u", i);
      SessionState state =
          Put(store(), Creation(NewState(absl::StrCat("run", i), uid)));
      for (int step = 1; step <= kSteps; ++step) {
        state = Put(store(), NextStep(state));
        EXPECT_TRUE(store()->FindDecision(uid, step).value().has_value());
        EXPECT_EQ(store()->Reload(uid).value()->state, state);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  const absl::StatusOr<std::vector<StoredSession>> all = store()->LoadAll();
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), static_cast<std::size_t>(kThreads));
  for (const StoredSession& session : *all) {
    EXPECT_EQ(session.state.step, kSteps + 1);
    EXPECT_EQ(session.recent.size(), static_cast<std::size_t>(kSteps));
  }
}

TEST_P(StoreContractTest, LetsOnlyOneOfTwoRivalWritersWin) {
  const SessionState created = Put(store(), Creation(NewState("run", "u1")));
  std::vector<std::future<Answer>> answers(4);
  std::vector<std::thread> threads;
  for (std::future<Answer>& answer : answers) {
    threads.emplace_back([this, &created, &answer] {
      answer = CommitAsync(store(), NextStep(created));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto done = std::count_if(
      answers.begin(), answers.end(),
      [](auto& answer) { return answer.get().result == WriteResult::kDone; });
  EXPECT_EQ(done, 1);
}

TEST_P(StoreContractTest, CommitsFromInsideAnAnswer) {
  std::promise<WriteResult> second;
  const SessionState created = NewState("run", "u1");
  store()->Commit(Creation(created), [&](WriteResult, absl::Status) {
    store()->Commit(NextStep(created),
                    [&second](WriteResult result, absl::Status) {
                      second.set_value(result);
                    });
  });
  EXPECT_EQ(second.get_future().get(), WriteResult::kDone);
}

INSTANTIATE_TEST_SUITE_P(EveryStore, StoreContractTest,
                         ::testing::Values("memory", "sqlite", "relaxed"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace lossscaler::server
