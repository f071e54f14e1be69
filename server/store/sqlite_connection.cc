// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_connection.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "store/store_errors.h"

namespace lossscaler::server {
namespace {

// How long to wait for another program that writes to the database.
constexpr int kBusyMillis = 1000;

}  // namespace

void SqliteStatement::BindOne(int index, std::int64_t value) {
  sqlite3_bind_int64(get(), index, value);
}

void SqliteStatement::BindOne(int index,
                              const std::optional<std::int64_t>& value) {
  // Without a value the binding is NULL as it is.
  if (value) BindOne(index, *value);
}

void SqliteStatement::BindOne(int index, std::string_view text) {
  // An empty view may have no address, and SQLite takes that for NULL.
  sqlite3_bind_text64(get(), index, text.empty() ? "" : text.data(),
                      text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void SqliteStatement::BindOne(int index, const Blob& blob) {
  sqlite3_bind_blob64(get(), index, blob.bytes.empty() ? "" : blob.bytes.data(),
                      blob.bytes.size(), SQLITE_STATIC);
}

void SqliteStatement::Reset() {
  sqlite3_reset(get());
  sqlite3_clear_bindings(get());
}

bool SqliteQuery::Next() {
  const int code = sqlite3_step(statement_->get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) code_ = code;
  return false;
}

std::int64_t SqliteQuery::Int(int column) const {
  return sqlite3_column_int64(statement_->get(), column);
}

std::string_view SqliteQuery::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_->get(), column);
  const int size = sqlite3_column_bytes(statement_->get(), column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

absl::StatusOr<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(
    const std::string& path, int flags) {
  sqlite3* database = nullptr;
  // Each connection is used by one thread at a time, so it needs no mutex.
  const int code = sqlite3_open_v2(path.c_str(), &database,
                                   flags | SQLITE_OPEN_NOMUTEX, nullptr);
  // SQLite gives a handle even when it fails, except out of memory.
  auto connection = absl::WrapUnique(new SqliteConnection(path, database));
  if (code != SQLITE_OK) return SqliteError("open", code, *connection);
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, kBusyMillis);
  // Functions hidden in the schema of a doctored file stay without effect.
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return connection;
}

SqliteConnection::~SqliteConnection() { sqlite3_close_v2(database_); }

int SqliteConnection::Execute(const std::string& sql) {
  return sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
}

absl::StatusOr<SqliteStatement> SqliteConnection::Prepare(
    std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return SqliteError("prepare to use", code, *this);
  return SqliteStatement(statement);
}

absl::Status SqliteError(std::string_view doing, int code,
                         const SqliteConnection& connection) {
  return SqliteError(doing, code, connection.path(), connection.error_text());
}

absl::Status SqliteError(std::string_view doing, int code,
                         const std::string& path, std::string_view text) {
  return StoreUnavailable(
      absl::StrCat("cannot ", std::string(doing), " the database '", path,
                   "': ", std::string(text), " (SQLite result ", code,
                   "); see to the disk, then try again"),
      {{"database", path},
       {"error", std::string(text)},
       {"sqlite_result", absl::StrCat(code)}});
}

}  // namespace lossscaler::server
