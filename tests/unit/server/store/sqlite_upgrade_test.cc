// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A database of the first release is brought up to date when it is opened.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sqlite_fixture.h"
#include "store/record_codec.h"
#include "store_fixture.h"
#include "testing/status_matchers.h"

namespace lossscaler::server {
namespace {

using ::lossscaler::testing::HasCode;
using ::lossscaler::testing::IsOk;
using ::testing::ElementsAre;

// As the first release has made it. Never changes.
constexpr char kFirstSchema[] = R"sql(
PRAGMA application_id = 1280525132;
PRAGMA user_version = 1;
CREATE TABLE meta(
  only_row    INTEGER PRIMARY KEY CHECK (only_row = 1),
  start_count INTEGER NOT NULL
);
INSERT INTO meta VALUES (1, 6);
CREATE TABLE sessions(
  uid      TEXT    NOT NULL PRIMARY KEY,
  name     TEXT    NOT NULL UNIQUE,
  revision INTEGER NOT NULL,
  record   BLOB    NOT NULL
) WITHOUT ROWID;
CREATE TABLE decisions(
  session_uid TEXT    NOT NULL,
  step        INTEGER NOT NULL,
  outcome     TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  decide_time INTEGER NOT NULL,
  request_id  TEXT    NOT NULL,
  decision    BLOB    NOT NULL,
  PRIMARY KEY (session_uid, step)
) WITHOUT ROWID;
CREATE INDEX decisions_by_request ON decisions(session_uid, request_id)
  WHERE request_id <> '';
CREATE TABLE deletions(
  ordinal     INTEGER PRIMARY KEY,
  request_id  TEXT    NOT NULL UNIQUE,
  session     TEXT    NOT NULL,
  session_uid TEXT    NOT NULL,
  delete_time INTEGER NOT NULL
);
CREATE TABLE probes(payload BLOB NOT NULL);
PRAGMA journal_mode = WAL;
)sql";

class SqliteUpgradeTest : public SqliteTest {
 protected:
  // A session that has decided steps 1 (iteration 7) and 2 (none).
  void MakeFirstDatabase() {
    Sql(kFirstSchema);
    Write write;
    SessionState state = NewState("run", "u1");
    for (int i = 0; i < 2; ++i) {
      write = NextStep(state);
      if (i == 0) write.decision->votes[0].iteration = 7;
      state = write.state;
      decisions_.push_back(*write.decision);
      Sql(absl::StrCat("INSERT INTO decisions VALUES ('u1', ",
                       write.decision->step, ", 'APPLY', 'FINITE', 0, '', ",
                       Hex(EncodeDecision(*write.decision)), ")"));
    }
    state_ = state;
    Sql(absl::StrCat("INSERT INTO sessions VALUES ('u1', 'run', ",
                     state.revision, ", ", Hex(EncodeSession(state)), ")"));
  }

  SessionState state_;
  std::vector<Decision> decisions_;

 private:
  static std::string Hex(const std::string& bytes) {
    return absl::StrCat("x'", absl::BytesToHexString(bytes), "'");
  }
};

TEST_F(SqliteUpgradeTest, KeepsSessionsJournalAndStarts) {
  MakeFirstDatabase();
  const std::unique_ptr<Store> store = MustOpen();
  EXPECT_EQ(store->start_count(), 7);
  const auto all = store->LoadAll();
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).state, state_);
  EXPECT_EQ(all->at(0).recent, decisions_);
  EXPECT_EQ(all->at(0).loss, 0);
  EXPECT_EQ(Sql("PRAGMA user_version"), 2);
}

TEST_F(SqliteUpgradeTest, FindsTheIterationsOfOldDecisionsToo) {
  MakeFirstDatabase();
  const std::unique_ptr<Store> store = MustOpen();
  Write write = NextStep(state_);
  write.decision->votes[0].iteration = 7;
  Put(store.get(), write);
  const auto found = store->ListDecisionsByIteration("u1", 7, 100, 10);
  ASSERT_THAT(found, IsOk());
  EXPECT_THAT(*found, ElementsAre(*write.decision, decisions_[0]));
}

TEST_F(SqliteUpgradeTest, IsDoneOnce) {
  MakeFirstDatabase();
  Put(MustOpen().get(), NextStep(state_));
  const auto all = MustOpen()->LoadAll();
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(all->at(0).recent.size(), 3u);
}

// The damage is found before anything is changed.
TEST_F(SqliteUpgradeTest, LeavesADamagedDatabaseAsItWas) {
  MakeFirstDatabase();
  Sql("UPDATE sessions SET record = x'ffff'");
  const auto before = ReadFile(database());
  EXPECT_THAT(Open(), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_TRUE(ReadFile(database()) == before);
}

TEST_F(SqliteUpgradeTest, MakesTheTablesThatANewDatabaseHas) {
  MakeFirstDatabase();
  MustOpen();
  const std::string columns =
      "SELECT count(*) FROM pragma_table_info('decisions')";
  const std::string objects = "SELECT count(*) FROM sqlite_schema";
  const std::int64_t upgraded_columns = Sql(columns);
  const std::int64_t upgraded_objects = Sql(objects);
  std::filesystem::remove(database());
  MustOpen();
  EXPECT_EQ(Sql(columns), upgraded_columns);
  EXPECT_EQ(Sql(objects), upgraded_objects);
}

}  // namespace
}  // namespace lossscaler::server
