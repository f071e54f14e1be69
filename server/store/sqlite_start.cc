// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_start.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "store/boot_id.h"
#include "store/sqlite_schema.h"

namespace lossscaler::server {
namespace {

// Runs one statement for the number in its only row.
absl::StatusOr<std::int64_t> WriteReturning(SqliteConnection* connection,
                                            std::string_view sql,
                                            std::string_view argument) {
  absl::StatusOr<SqliteStatement> statement = connection->Prepare(sql);
  if (!statement.ok()) return statement.status();
  SqliteQuery query(&*statement, argument);
  std::int64_t number = 0;
  while (query.Next()) number = query.Int(0);
  if (query.code() != SQLITE_OK) {
    return SqliteError("write", query.code(), *connection);
  }
  return number;
}

absl::Status MarkLoss(SqliteConnection* connection,
                      const std::string& boot_id) {
  absl::StatusOr<SqliteStatement> statement = connection->Prepare(
      "UPDATE sessions SET loss = meta.start_count + 1 FROM meta "
      "WHERE meta.unsynced_boot_id NOT IN ('', ?)");
  if (!statement.ok()) return statement.status();
  const int code = statement->Run(std::string_view(boot_id));
  return code == SQLITE_OK ? absl::OkStatus()
                           : SqliteError("write", code, *connection);
}

absl::StatusOr<std::int64_t> TakeIntoUse(SqliteConnection* connection,
                                         const std::string& boot_id,
                                         bool relaxed) {
  if (const int code = MigrateTables(connection); code != SQLITE_OK) {
    return SqliteError("bring up to date", code, *connection);
  }
  if (absl::Status status = MarkLoss(connection, boot_id); !status.ok()) {
    return status;
  }
  return WriteReturning(connection,
                        "UPDATE meta SET start_count = start_count + 1, "
                        "unsynced_boot_id = ? RETURNING start_count",
                        relaxed ? std::string_view(boot_id) : "");
}

}  // namespace

absl::StatusOr<std::int64_t> StartDatabase(SqliteConnection* connection,
                                           const SqliteOptions& options) {
  const bool relaxed = options.durability == Durability::kRelaxed;
  const std::string boot_id =
      options.boot_id.empty() ? MachineBootId() : options.boot_id;
  if (relaxed && boot_id.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the database '", connection->path(),
        "' cannot be used with durability relaxed: this machine does not say "
        "when it was booted (/proc/sys/kernel/random/boot_id), so that a power "
        "loss would go unnoticed; use durability full"));
  }
  int code = connection->Execute("BEGIN IMMEDIATE");
  if (code != SQLITE_OK) return SqliteError("write", code, *connection);
  absl::StatusOr<std::int64_t> start_count =
      TakeIntoUse(connection, boot_id, relaxed);
  if (!start_count.ok()) {
    connection->Execute("ROLLBACK");
    return start_count;
  }
  // With everything in the log that a relaxed server left there.
  code = connection->Execute("COMMIT");
  if (code == SQLITE_OK && relaxed) {
    code = connection->Execute("PRAGMA synchronous = NORMAL");
  }
  if (code != SQLITE_OK) return SqliteError("write", code, *connection);
  return start_count;
}

void SettleDatabase(SqliteConnection* connection) {
  // The commit is on disk after everything before it.
  connection->Execute(
      "PRAGMA synchronous = FULL;"
      "UPDATE meta SET unsynced_boot_id = '';");
}

}  // namespace lossscaler::server
