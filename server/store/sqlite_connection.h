// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// A connection to an SQLite database and its prepared statements, with SQLite's
// own result codes.
//
// Thread safety: none; one thread at a time uses a connection and everything
// made from it.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_CONNECTION_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_CONNECTION_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lossscaler::server {

// Bytes, as opposed to text.
struct Blob {
  std::string_view bytes;
};

// A statement that is prepared once and run often. A default-constructed one
// fails with SQLITE_MISUSE.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Runs a statement that returns no rows; SQLITE_OK or an extended code.
  template <typename... Arguments>
  int Run(const Arguments&... arguments) {
    Bind(arguments...);
    int code = sqlite3_step(get());
    if (code == SQLITE_ROW || code == SQLITE_DONE) code = SQLITE_OK;
    Reset();
    return code;
  }

 private:
  friend class SqliteConnection;
  friend class SqliteQuery;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };

  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* get() const { return statement_.get(); }

  template <typename... Arguments>
  void Bind(const Arguments&... arguments) {
    int index = 0;
    (BindOne(++index, arguments), ...);
  }
  // Arguments live until Reset(), so nothing is copied. A failed bind leaves
  // NULL, which the NOT NULL constraints of the schema refuse.
  void BindOne(int index, std::int64_t value);
  // NULL if unset.
  void BindOne(int index, const std::optional<std::int64_t>& value);
  void BindOne(int index, std::string_view text);
  void BindOne(int index, const Blob& blob);
  void Reset();

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

// The rows of one run of a statement:
//
//   SqliteQuery query(&statement, uid);
//   while (query.Next()) Use(query.Int(0), query.Bytes(1));
//   if (query.code() != SQLITE_OK) ...
class SqliteQuery {
 public:
  // The arguments outlive the query.
  template <typename... Arguments>
  explicit SqliteQuery(SqliteStatement* statement,
                       const Arguments&... arguments)
      : statement_(statement) {
    statement_->Bind(arguments...);
  }
  ~SqliteQuery() { statement_->Reset(); }
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // False at the end and on errors.
  bool Next();
  // SQLITE_OK unless Next() failed.
  int code() const { return code_; }

  std::int64_t Int(int column) const;
  // Of text or a blob; valid until Next().
  std::string_view Bytes(int column) const;

 private:
  SqliteStatement* const statement_;
  int code_ = SQLITE_OK;
};

class SqliteConnection {
 public:
  // `flags` as for sqlite3_open_v2.
  static absl::StatusOr<std::unique_ptr<SqliteConnection>> Open(
      const std::string& path, int flags);

  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  // Runs statements that take no arguments; an extended result code.
  int Execute(const std::string& sql);
  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql);

  // Rows that the last statement inserted, changed or deleted.
  std::int64_t changes() const { return sqlite3_changes64(database_); }
  // Whether a transaction is open. SQLite ends it itself on some errors.
  bool in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }

  // What the last failed call had to say.
  std::string error_text() const { return sqlite3_errmsg(database_); }
  sqlite3* handle() { return database_; }

  const std::string& path() const { return path_; }

 private:
  SqliteConnection(std::string path, sqlite3* database)
      : path_(std::move(path)), database_(database) {}

  const std::string path_;
  sqlite3* const database_;
};

// STORE_UNAVAILABLE for a call that failed with `code` just now.
absl::Status SqliteError(std::string_view doing, int code,
                         const SqliteConnection& connection);

// The same for a code without a connection's own words.
absl::Status SqliteError(std::string_view doing, int code,
                         const std::string& path, std::string_view text);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_CONNECTION_H_
