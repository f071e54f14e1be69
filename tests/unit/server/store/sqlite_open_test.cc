// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// What an sqlite store opens, and what it refuses without touching it.

#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sqlite_fixture.h"
#include "store_fixture.h"
#include "testing/child_process.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::ChildProcess;
using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kDamaged = absl::StatusCode::kDataLoss;

class SqliteOpenTest : public SqliteTest {
 protected:
  // Opening fails with this code, names the file, says `what`, and leaves the
  // folder as it was: the same files with the same bytes.
  void ExpectRefused(absl::StatusCode code, const std::string& what) {
    const std::map<std::string, std::string> before = Contents();
    const absl::StatusOr<std::unique_ptr<Store>> store = Open();
    EXPECT_THAT(store, HasCode(code));
    EXPECT_THAT(std::string(store.status().message()),
                AllOf(HasSubstr(database()), HasSubstr(what)));
    std::map<std::string, std::string> after = Contents();
    // The lock names its last holder.
    if (before.contains("lock")) after["lock"] = before.at("lock");
    EXPECT_TRUE(after == before) << "the folder was changed";
  }

  // A closed database with three sessions and a journal of several pages.
  void MakeDatabase() {
    const std::unique_ptr<Store> store = MustOpen();
    for (int i = 0; i < 3; ++i) {
      PutSteps(store.get(),
               Put(store.get(), Creation(NewState(absl::StrCat("run", i),
                                                  absl::StrCat("u", i)))),
               100);
    }
  }

  // The same, killed before its log was folded in.
  void MakeKilledDatabase() {
    ChildProcess child([this](int fd) {
      MakeDatabase();
      const std::unique_ptr<Store> store = MustOpen();
      Put(store.get(), Creation(NewState("last", "u9")));
      ChildProcess::Tell(fd, "y");
      _exit(0);
    });
    ASSERT_EQ(child.ReadAll(), "y");
    child.Kill();
    ASSERT_FALSE(ReadFile(database() + "-wal").empty());
  }
};

TEST_F(SqliteOpenTest, RefusesADatabaseOfSomebodyElse) {
  Sql("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  ExpectRefused(kFailedPrecondition, "application id is 0");
}

TEST_F(SqliteOpenTest, RefusesAWalDatabaseOfSomebodyElse) {
  Sql("PRAGMA journal_mode = WAL; PRAGMA application_id = 7;"
      "CREATE TABLE t(x)");
  ExpectRefused(kFailedPrecondition, "application id is 7");
}

TEST_F(SqliteOpenTest, RefusesAText) {
  WriteFile(database(), std::string(5000, 'x'));
  ExpectRefused(kFailedPrecondition, "not an SQLite database");
}

TEST_F(SqliteOpenTest, RefusesAnEmptyOrTinyFile) {
  WriteFile(database(), "");
  ExpectRefused(kFailedPrecondition, "it has 0 bytes");
  WriteFile(database(), "SQLite format 3");
  ExpectRefused(kFailedPrecondition, "it has 15 bytes");
}

TEST_F(SqliteOpenTest, RefusesAFolderInPlaceOfTheFile) {
  ASSERT_TRUE(std::filesystem::create_directory(database()));
  EXPECT_THAT(Open(), HasCode(kFailedPrecondition));
  EXPECT_TRUE(std::filesystem::is_empty(database()));
}

TEST_F(SqliteOpenTest, RefusesTheDatabaseOfANewerRelease) {
  MakeDatabase();
  Sql("PRAGMA user_version = 3");
  ExpectRefused(kFailedPrecondition, "use the newer release");
}

TEST_F(SqliteOpenTest, RefusesATruncatedDatabase) {
  MakeDatabase();
  const std::string bytes = ReadFile(database());
  WriteFile(database(), bytes.substr(0, bytes.size() / 2));
  ExpectRefused(kDamaged, "restore a backup");
}

TEST_F(SqliteOpenTest, RefusesACorruptedPageWhereverItIs) {
  MakeDatabase();
  const std::string bytes = ReadFile(database());
  constexpr std::size_t kPage = 4096;
  ASSERT_GE(bytes.size(), 10 * kPage);
  // The root pages of the tables come first, the journal's leaves last.
  for (const std::size_t page :
       {std::size_t{2}, bytes.size() / kPage / 2, bytes.size() / kPage - 1}) {
    std::string damaged = bytes;
    damaged.replace(page * kPage, kPage, kPage, '\xa5');
    WriteFile(database(), damaged);
    SCOPED_TRACE(page);
    ExpectRefused(kDamaged, "restore a backup");
  }
  WriteFile(database(), bytes);
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(SqliteOpenTest, RefusesACorruptedDatabaseOfAKilledServer) {
  MakeKilledDatabase();
  std::string bytes = ReadFile(database());
  const std::size_t last = bytes.size() - 4096;
  bytes.replace(last, 4096, 4096, '\xa5');
  WriteFile(database(), bytes);
  ExpectRefused(kDamaged, "restore a backup");
}

TEST_F(SqliteOpenTest, LeavesTheLogOfARefusedDatabaseWithoutAnIndex) {
  MakeKilledDatabase();
  std::filesystem::remove(database() + "-shm");
  std::string bytes = ReadFile(database());
  bytes.replace(bytes.size() - 4096, 4096, 4096, '\xa5');
  WriteFile(database(), bytes);
  ExpectRefused(kDamaged, "restore a backup");
}

TEST_F(SqliteOpenTest, RefusesAnUndecodableSession) {
  MakeDatabase();
  Sql("UPDATE sessions SET record = x'ffff' WHERE uid = 'u1'");
  ExpectRefused(kDamaged, "session u1");
}

TEST_F(SqliteOpenTest, RefusesASessionInTheRowOfAnother) {
  MakeDatabase();
  Sql("UPDATE sessions SET record = (SELECT record FROM sessions WHERE "
      "uid = 'u2') WHERE uid = 'u1'");
  ExpectRefused(kDamaged, "session u1");
}

TEST_F(SqliteOpenTest, RefusesAnUndecodableDecision) {
  MakeDatabase();
  Sql("UPDATE decisions SET decision = x'ffff' WHERE session_uid = 'u2' AND "
      "step = 100");
  ExpectRefused(kDamaged, "step 100 of session u2");
}

TEST_F(SqliteOpenTest, RefusesADecisionInTheRowOfAnother) {
  MakeDatabase();
  Sql("UPDATE decisions SET decision = (SELECT decision FROM decisions WHERE "
      "session_uid = 'u2' AND step = 99) WHERE session_uid = 'u2' AND "
      "step = 100");
  ExpectRefused(kDamaged, "step 100 of session u2");
}

TEST_F(SqliteOpenTest, RefusesALogWhoseDatabaseIsGone) {
  MakeKilledDatabase();
  std::filesystem::remove(database());
  ExpectRefused(kFailedPrecondition, "is missing but");
}

TEST_F(SqliteOpenTest, TakesTheLogOfAKilledServerIntoAccount) {
  MakeKilledDatabase();
  const absl::StatusOr<std::unique_ptr<Store>> store = Open();
  ASSERT_THAT(store, IsOk());
  EXPECT_EQ((*store)->LoadAll().value().size(), 4u);
}

TEST_F(SqliteOpenTest, StartsAgainAfterACreationThatWasKilled) {
  WriteFile(database() + ".new", "half a database");
  WriteFile(database() + ".new-journal", "half a journal");
  ASSERT_THAT(Open(), IsOk());
  EXPECT_EQ(Contents().count("lossscaler.db.new"), 0u);
  EXPECT_EQ(Contents().count("lossscaler.db.new-journal"), 0u);
}

TEST_F(SqliteOpenTest, RefusesASecondServerNamingTheFirst) {
  const std::unique_ptr<Store> store = MustOpen();
  const std::string holder = absl::StrCat("process id ", getpid());
  const absl::StatusOr<std::unique_ptr<Store>> second = Open();
  EXPECT_THAT(second, HasCode(kFailedPrecondition));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(holder));
}

TEST_F(SqliteOpenTest, RefusesAServerInAnotherProcessNamingTheFirst) {
  ChildProcess first([this](int fd) {
    const std::unique_ptr<Store> store = MustOpen();
    ChildProcess::Tell(fd, "y");
    for (;;) pause();
  });
  char said = 0;
  ASSERT_EQ(first.Read(&said, 1), 1u);
  const absl::StatusOr<std::unique_ptr<Store>> second = Open();
  EXPECT_THAT(second, HasCode(kFailedPrecondition));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("process id ", first.pid())));
  first.Kill();
  EXPECT_THAT(Open(), IsOk());
}

}  // namespace
}  // namespace lossscaler::server
