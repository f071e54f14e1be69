// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The schema of lossscaler.db, and how the file comes to be.
//
// It is meant to be read with the sqlite3 shell as well:
//
//   SELECT step, outcome, reason, datetime(decide_time / 1000000, 'unixepoch')
//   FROM decisions JOIN sessions ON uid = session_uid WHERE name = 'team/run';

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_SCHEMA_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_SCHEMA_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "store/sqlite_connection.h"

namespace lossscaler::server {

// "LSCL", in the header of every database of ours.
inline constexpr std::uint32_t kApplicationId = 0x4C53434C;
// Rises when an older release could not use the file any more.
inline constexpr std::uint32_t kSchemaVersion = 2;

// Makes an empty database at `path` unless there is a file. It appears whole or
// not at all: it is made under another name and renamed.
//
// FAILED_PRECONDITION if there is none but its write-ahead log lies there: the
// database was moved away without the log, which holds its latest writes and
// would be applied to the new one.
absl::Status CreateDatabaseIfMissing(const std::string& path);

// The schema version of an open database; an SQLite result.
int ReadSchemaVersion(SqliteConnection* connection, std::int64_t* version);

// Brings the tables to kSchemaVersion; an SQLite result. Reads every decision
// of an older database once, so that it may take minutes for one of gigabytes.
//
// REQUIRES: a transaction is open; all of it is part of that.
int MigrateTables(SqliteConnection* connection);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_SCHEMA_H_
