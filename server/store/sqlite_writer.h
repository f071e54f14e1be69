// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SqliteWriter: what one Write changes in the database, inside a transaction
// that somebody else begins and commits.
//
// Thread safety: none.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_WRITER_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_WRITER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_options.h"
#include "store/store.h"

namespace lossscaler::server {

class SqliteWriter {
 public:
  // `connection` outlives the writer.
  static absl::StatusOr<std::unique_ptr<SqliteWriter>> Create(
      SqliteConnection* connection, const SqliteOptions& options);

  enum class Applied {
    kYes,
    // The write does not follow the stored state; the database is fine.
    kConflict,
    // The database refused it.
    kFailed,
  };
  struct Outcome {
    Applied applied = Applied::kYes;
    absl::Status status;
  };

  // After anything but kYes nothing of the write remains, and the transaction
  // is either as it was before, or gone altogether:
  // connection->in_transaction() tells.
  //
  // REQUIRES: a transaction is open.
  Outcome Apply(const Write& write);

  // Needs as much room as a write may need and leaves nothing behind; the
  // SQLite result. REQUIRES: a transaction is open.
  int Probe();

 private:
  SqliteWriter(SqliteConnection* connection, const SqliteOptions& options);

  absl::Status Prepare();
  // SQLITE_OK or the result that stopped the write. A write that finds no row
  // to change is SQLITE_CONSTRAINT, as one that finds a row in its way.
  int Change(const Write& write);
  // `restored`: the state is one that a restore has set.
  int PutState(const SessionState& state, bool restored);
  int PutDecision(const std::string& session_uid, const Decision& decision);
  int Prune(const std::string& session_uid, const Decision& latest);
  int Delete(const SessionState& state, const Deletion& deletion);
  int ExpectOneChange(int code) const;

  SqliteConnection* const connection_;
  const std::int64_t journal_decisions_;
  const absl::Duration journal_age_;

  SqliteStatement savepoint_;
  SqliteStatement release_;
  SqliteStatement rollback_;
  SqliteStatement insert_session_;
  SqliteStatement update_session_;
  SqliteStatement delete_session_;
  SqliteStatement insert_decision_;
  SqliteStatement delete_decisions_;
  SqliteStatement oldest_step_;
  SqliteStatement nth_newest_step_;
  SqliteStatement first_young_step_;
  SqliteStatement prune_decisions_;
  SqliteStatement insert_deletion_;
  SqliteStatement prune_deletions_;
  SqliteStatement insert_probe_;
  SqliteStatement delete_probe_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_WRITER_H_
