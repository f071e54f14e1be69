// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_reader.h"
#include "store/sqlite_schema.h"
#include "store/store.h"

namespace lossscaler::server {
namespace {

// https://www.sqlite.org/fileformat2.html#the_database_header
constexpr std::size_t kHeaderBytes = 100;
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kUserVersionOffset = 60;
constexpr std::size_t kApplicationIdOffset = 68;

constexpr std::uintmax_t kFullCheckBytes = 256 << 20;

std::uint32_t BigEndian32(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

absl::Status NotOurs(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path, "' is not a database of lossscalerd: ", std::string(why),
      "; it was left as it is; move it away or name another folder"));
}

absl::Status Damaged(const std::string& path, std::string_view what) {
  return absl::DataLossError(absl::StrCat(
      "the database '", path, "' is damaged: ", std::string(what),
      "; it was left as it is; restore a backup, or move it away together with "
      "its -wal and -shm files to start empty"));
}

absl::Status Damaged(const std::string& path, const absl::Status& found) {
  return Damaged(path, std::string(found.message()));
}

// A name that SQLite reads as a URI.
std::string ImmutableUri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += absl::StrCat("%", absl::Hex(c, absl::kZeroPad2));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

// Opens a database so that looking at it leaves no trace.
absl::StatusOr<std::unique_ptr<SqliteConnection>> OpenForLooking(
    const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(absl::StrCat(path, "-wal"), ignored)) {
    // Without a log the file is all there is, and "immutable" keeps SQLite from
    // making one.
    return SqliteConnection::Open(ImmutableUri(path),
                                  SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  }
  // The log of a killed server belongs to the database. Exclusive mode keeps
  // the log's index in memory instead of a file, and without the checkpoint on
  // close both files stay as they are.
  absl::StatusOr<std::unique_ptr<SqliteConnection>> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE);
  if (!connection.ok()) return connection;
  sqlite3_db_config((*connection)->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                    1, nullptr);
  const int code = (*connection)
                       ->Execute(
                           "PRAGMA locking_mode = EXCLUSIVE;"
                           "PRAGMA query_only = 1;");
  if (code != SQLITE_OK) return SqliteError("look at", code, **connection);
  return connection;
}

absl::Status CheckStructure(SqliteConnection* connection,
                            const std::string& path) {
  std::error_code ignored;
  const bool all = std::filesystem::file_size(path, ignored) <= kFullCheckBytes;
  connection->Execute("PRAGMA cell_size_check = 1");
  absl::StatusOr<SqliteStatement> check = connection->Prepare(
      all ? "PRAGMA quick_check(1)" : "PRAGMA quick_check(sessions)");
  if (!check.ok()) return Damaged(path, check.status());
  SqliteQuery query(&*check);
  if (!query.Next()) return Damaged(path, connection->error_text());
  if (query.Bytes(0) != "ok") return Damaged(path, query.Bytes(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RecogniseDatabase(const std::string& path) {
  // Not blocking, in case somebody put a pipe there.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return absl::OkStatus();
  if (fd < 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot read the database '", path,
                            "'; it must belong to the server's user"));
  }
  char header[kHeaderBytes];
  struct stat file;
  const bool is_file = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
  const ssize_t size = is_file ? pread(fd, header, sizeof(header), 0) : 0;
  close(fd);
  if (!is_file) return NotOurs(path, "it is not a regular file");
  if (size != static_cast<ssize_t>(sizeof(header))) {
    return NotOurs(path, absl::StrCat("it has ", file.st_size,
                                      " bytes, too few for a database"));
  }
  if (std::string_view(header, kMagic.size()) != kMagic) {
    return NotOurs(path, "it is not an SQLite database");
  }
  const std::uint32_t application = BigEndian32(header + kApplicationIdOffset);
  if (application != kApplicationId) {
    return NotOurs(path, absl::StrCat("its SQLite application id is ",
                                      application, ", not ", kApplicationId));
  }
  const std::uint32_t version = BigEndian32(header + kUserVersionOffset);
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the database '", path, "' has schema version ", version,
        " and this release knows versions up to ", kSchemaVersion,
        "; it was left as it is; use the newer release that wrote it, or name "
        "another folder"));
  }
  if (version < 1) {
    return Damaged(path, absl::StrCat("its schema version is ", version));
  }
  return absl::OkStatus();
}

absl::Status CheckDatabase(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteConnection>> connection =
      OpenForLooking(path);
  if (!connection.ok()) return connection.status();
  if (absl::Status status = CheckStructure(connection->get(), path);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<SqliteReader>> reader =
      SqliteReader::Create(*std::move(connection));
  if (!reader.ok()) return Damaged(path, reader.status());
  absl::StatusOr<std::vector<StoredSession>> sessions = (*reader)->LoadAll();
  if (!sessions.ok()) return Damaged(path, sessions.status());
  return absl::OkStatus();
}

}  // namespace lossscaler::server
