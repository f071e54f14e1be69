// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_schema.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace lossscaler::server {
namespace {

// Times are microseconds since 1970. Records are described in record_codec.h;
// what stands beside them is for queries and for keys.
// The first version; kMigrations has what came later, for new databases too.
constexpr char kTables[] = R"sql(
CREATE TABLE meta(
  only_row    INTEGER PRIMARY KEY CHECK (only_row = 1),
  start_count INTEGER NOT NULL
);
INSERT INTO meta VALUES (1, 0);

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
)sql";

// kMigrations[i] leads from version i + 1 to i + 2.
constexpr const char* kMigrations[] = {
    R"sql(
-- The iteration that the votes name, if all that name one name the same.
ALTER TABLE decisions ADD COLUMN iteration INTEGER;
-- 1: they name several, or the row is older than these columns: the votes have
-- to be read.
ALTER TABLE decisions ADD COLUMN iterations_in_votes INTEGER NOT NULL DEFAULT 1;
CREATE INDEX decisions_by_iteration ON decisions(session_uid, iteration)
  WHERE iteration IS NOT NULL;
CREATE INDEX decisions_by_votes ON decisions(session_uid, step)
  WHERE iterations_in_votes = 1;

-- The start of the server that found that the machine may have lost decisions
-- of the session that somebody saw. 0: none.
ALTER TABLE sessions ADD COLUMN loss INTEGER NOT NULL DEFAULT 0;
-- The life of the machine in which commits were made that may not be on disk;
-- empty: there are none.
ALTER TABLE meta ADD COLUMN unsynced_boot_id TEXT NOT NULL DEFAULT '';
)sql"};
static_assert(std::size(kMigrations) == kSchemaVersion - 1);

absl::Status FileError(int error, const std::string& doing,
                       const std::string& path) {
  return absl::ErrnoToStatus(
      error, absl::StrCat("cannot ", doing, " '", path,
                          "'; the state folder must be writable for the "
                          "server's user and have room"));
}

absl::Status FillDatabase(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteConnection>> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE);
  if (!connection.ok()) return connection.status();
  int code =
      (*connection)
          ->Execute(absl::StrCat("PRAGMA synchronous = FULL; BEGIN;",
                                 "PRAGMA application_id = ", kApplicationId,
                                 "; PRAGMA user_version = 1;", kTables));
  if (code == SQLITE_OK) code = MigrateTables(connection->get());
  if (code == SQLITE_OK) {
    code = (*connection)->Execute("COMMIT; PRAGMA journal_mode = WAL;");
  }
  if (code != SQLITE_OK) return SqliteError("create", code, **connection);
  return absl::OkStatus();
}

// Makes a change of names in the folder survive a power loss.
absl::Status SyncFolder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  return synced ? absl::OkStatus() : FileError(error, "sync", folder);
}

}  // namespace

int ReadSchemaVersion(SqliteConnection* connection, std::int64_t* version) {
  absl::StatusOr<SqliteStatement> pragma =
      connection->Prepare("PRAGMA user_version");
  if (!pragma.ok()) return sqlite3_errcode(connection->handle());
  SqliteQuery query(&*pragma);
  if (query.Next()) *version = query.Int(0);
  return query.code();
}

int MigrateTables(SqliteConnection* connection) {
  std::int64_t version = 0;
  int code = ReadSchemaVersion(connection, &version);
  for (; code == SQLITE_OK && version < std::int64_t{kSchemaVersion};
       ++version) {
    code = connection->Execute(absl::StrCat(
        kMigrations[version - 1], "PRAGMA user_version = ", version + 1, ";"));
  }
  return code;
}

absl::Status CreateDatabaseIfMissing(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
    return absl::OkStatus();
  }
  for (const char* suffix : {"-wal", "-journal"}) {
    const std::string log = absl::StrCat(path, suffix);
    if (std::filesystem::exists(log, ignored)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "'", path, "' is missing but '", log,
          "', which holds its latest writes, is there; put the database back "
          "beside it, or move that file away too to start empty"));
    }
  }
  const std::string draft = absl::StrCat(path, ".new");
  // A draft that is there already is from a start that was killed.
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(absl::StrCat(draft, suffix), ignored);
  }
  const int fd =
      open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FileError(errno, "create", draft);
  close(fd);
  if (absl::Status status = FillDatabase(draft); !status.ok()) return status;
  if (std::rename(draft.c_str(), path.c_str()) != 0) {
    return FileError(errno, "rename the new database to", path);
  }
  return SyncFolder(path);
}

}  // namespace lossscaler::server
