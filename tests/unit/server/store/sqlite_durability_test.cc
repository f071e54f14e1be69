// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What a store says after a power loss that it may not have survived whole. The
// loss itself is played by another boot id.

#include <unistd.h>

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sqlite_fixture.h"
#include "store/boot_id.h"
#include "store_fixture.h"
#include "testing/child_process.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::ChildProcess;
using ::lossscaler::testing::IsOk;

SqliteOptions Options(Durability durability, const std::string& boot_id) {
  SqliteOptions options;
  options.durability = durability;
  options.boot_id = boot_id;
  return options;
}

class SqliteDurabilityTest : public SqliteTest {
 protected:
  // A server that decides one step of "run" and is killed.
  void RunKilled(const SqliteOptions& options) {
    ChildProcess child([this, &options](int fd) {
      const std::unique_ptr<Store> store = MustOpen(options);
      const auto stored = store->Reload("u1");
      Put(store.get(),
          NextStep(stored->has_value()
                       ? (*stored)->state
                       : Put(store.get(), Creation(NewState("run", "u1")))));
      ChildProcess::Tell(fd, "y");
      _exit(0);
    });
    ASSERT_EQ(child.ReadAll(), "y");
    child.Kill();
  }

  // A server that starts, looks, and stops in order.
  bool StaleAfterStart(const SqliteOptions& options) {
    const std::unique_ptr<Store> store = MustOpen(options);
    return StaleIn(store.get());
  }

  static bool StaleIn(Store* store) {
    const auto stored = store->Reload("u1");
    EXPECT_THAT(stored, IsOk());
    const auto all = store->LoadAll();
    EXPECT_THAT(all, IsOk());
    EXPECT_EQ(all->at(0).loss, (*stored)->loss);
    return (*stored)->loss != 0;
  }
};

constexpr Durability kFull = Durability::kFull;
constexpr Durability kRelaxed = Durability::kRelaxed;

TEST_F(SqliteDurabilityTest, IsWhatTheOptionsSay) {
  EXPECT_EQ(MustOpen(Options(kFull, "a"))->durability(), "full");
  EXPECT_EQ(MustOpen(Options(kRelaxed, "a"))->durability(), "relaxed");
  EXPECT_EQ(MustOpen()->durability(), "full");
}

TEST_F(SqliteDurabilityTest, AMachineKeepsItsBootId) {
  EXPECT_EQ(MachineBootId().size(), 36u) << "a UUID, as Linux gives it";
  EXPECT_EQ(MachineBootId(), MachineBootId());
}

TEST_F(SqliteDurabilityTest, RelaxedWritesMayBeMissingAfterAnotherBoot) {
  RunKilled(Options(kRelaxed, "a"));
  EXPECT_TRUE(StaleAfterStart(Options(kRelaxed, "b")));
}

TEST_F(SqliteDurabilityTest, AFullServerSeesWhatARelaxedOneMayHaveLost) {
  RunKilled(Options(kRelaxed, "a"));
  EXPECT_TRUE(StaleAfterStart(Options(kFull, "b")));
}

TEST_F(SqliteDurabilityTest, AKilledServerLosesNothing) {
  RunKilled(Options(kRelaxed, "a"));
  EXPECT_FALSE(StaleAfterStart(Options(kRelaxed, "a")));
}

TEST_F(SqliteDurabilityTest, FullWritesAreThereAfterAnotherBoot) {
  RunKilled(Options(kFull, "a"));
  EXPECT_FALSE(StaleAfterStart(Options(kFull, "b")));
}

TEST_F(SqliteDurabilityTest, AServerThatStoppedInOrderHasEverythingOnDisk) {
  RunKilled(Options(kRelaxed, "a"));
  StaleAfterStart(Options(kRelaxed, "a"));
  EXPECT_FALSE(StaleAfterStart(Options(kRelaxed, "b")));
}

TEST_F(SqliteDurabilityTest, AFullStartPutsTheRelaxedWritesOnDisk) {
  RunKilled(Options(kRelaxed, "a"));
  RunKilled(Options(kFull, "a"));
  EXPECT_FALSE(StaleAfterStart(Options(kFull, "b")));
}

TEST_F(SqliteDurabilityTest, AStaleSessionStaysSoUntilItIsRestored) {
  RunKilled(Options(kRelaxed, "a"));
  EXPECT_TRUE(StaleAfterStart(Options(kRelaxed, "b")));
  EXPECT_TRUE(StaleAfterStart(Options(kFull, "b")));
  RunKilled(Options(kFull, "b"));  // Decides a step.
  {
    const std::unique_ptr<Store> store = MustOpen(Options(kFull, "b"));
    EXPECT_TRUE(StaleIn(store.get()));
    Write restore = NextStep(store->Reload("u1").value()->state);
    restore.decision->outcome = Outcome::kAborted;
    restore.decision->reason = DecisionReason::kRestored;
    Put(store.get(), restore);
    EXPECT_FALSE(StaleIn(store.get()));
  }
  EXPECT_FALSE(StaleAfterStart(Options(kFull, "b")));
}

TEST_F(SqliteDurabilityTest, EveryLossHasAHigherNumber) {
  RunKilled(Options(kRelaxed, "a"));
  const auto loss = [&](const std::string& boot_id) {
    RunKilled(Options(kRelaxed, boot_id));
    return MustOpen(Options(kRelaxed, boot_id))->Reload("u1").value()->loss;
  };
  const std::int64_t first = loss("b");
  EXPECT_GT(first, 0);
  EXPECT_EQ(loss("b"), first) << "nothing was lost in between";
  RunKilled(Options(kRelaxed, "b"));
  EXPECT_GT(loss("c"), first);
}

TEST_F(SqliteDurabilityTest, ASessionCreatedAfterTheLossIsNotStale) {
  RunKilled(Options(kRelaxed, "a"));
  const std::unique_ptr<Store> store = MustOpen(Options(kRelaxed, "b"));
  Put(store.get(), Creation(NewState("later", "u2")));
  EXPECT_EQ(store->Reload("u2").value()->loss, 0);
}

}  // namespace
}  // namespace lossscaler::server
