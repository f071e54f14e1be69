// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_store.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "store/sqlite_check.h"
#include "store/sqlite_committer.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_reader.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_start.h"
#include "store/state_directory.h"
#include "store/store_errors.h"

namespace lossscaler::server {
namespace {

// Closing folds the log into the database, so that a stopped server's state is
// one file.
struct CloseWriting {
  void operator()(SqliteConnection* connection) const {
    sqlite3_wal_checkpoint_v2(connection->handle(), nullptr,
                              SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    delete connection;
  }
};
using WritingConnection = std::unique_ptr<SqliteConnection, CloseWriting>;

class SqliteStore final : public Store {
 public:
  ~SqliteStore() override {
    committer_.reset();
    if (relaxed_) SettleDatabase(writing_.get());
  }

  static absl::StatusOr<std::unique_ptr<Store>> Open(
      std::unique_ptr<StateDirectory> directory, const std::string& path,
      const SqliteOptions& options);

  std::string_view name() const override { return "sqlite"; }
  std::string_view durability() const override {
    return relaxed_ ? "relaxed" : "full";
  }
  std::int64_t start_count() const override { return start_count_; }

  absl::StatusOr<std::vector<StoredSession>> LoadAll() override {
    return reader_->LoadAll();
  }
  void Commit(Write write, Done done) override {
    committer_->Enqueue(std::move(write), std::move(done));
  }
  absl::StatusOr<std::optional<StoredSession>> Reload(
      std::string_view session_uid) override;
  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step) override {
    return reader_->FindDecision(session_uid, step);
  }
  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id) override {
    return reader_->FindDecisionByRequest(session_uid, request_id);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step,
      int limit) override {
    return reader_->ListDecisions(session_uid, before_step, limit);
  }
  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) override {
    return reader_->ListDecisionsByIteration(session_uid, iteration,
                                             before_step, limit);
  }
  absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step,
      int limit) override {
    return reader_->ReadDecisions(session_uid, from_step, limit);
  }
  absl::StatusOr<std::optional<Deletion>> FindDeletion(
      std::string_view request_id) override {
    return reader_->FindDeletion(request_id);
  }
  absl::Status Health() override { return committer_->Health(); }

 private:
  SqliteStore() = default;

  // Destroyed from the last to the first: the thread ends, the reader lets go
  // of the log, the log is folded in, and only then another server may come.
  std::unique_ptr<StateDirectory> directory_;
  WritingConnection writing_;
  std::int64_t start_count_ = 0;
  bool relaxed_ = false;
  std::unique_ptr<SqliteReader> reader_;
  std::unique_ptr<SqliteCommitter> committer_;
};

absl::StatusOr<WritingConnection> OpenForWriting(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteConnection>> opened =
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE);
  if (!opened.ok()) return opened.status();
  WritingConnection connection(opened->release());
  const int code = connection->Execute(
      "PRAGMA journal_mode = WAL;"
      "PRAGMA synchronous = FULL;"
      "PRAGMA cell_size_check = 1;"
      // A big deletion must not leave a big log for ever.
      "PRAGMA journal_size_limit = 67108864;");
  if (code != SQLITE_OK) return SqliteError("open", code, *connection);
  return connection;
}

absl::StatusOr<std::unique_ptr<Store>> SqliteStore::Open(
    std::unique_ptr<StateDirectory> directory, const std::string& path,
    const SqliteOptions& options) {
  auto store = absl::WrapUnique(new SqliteStore());
  store->directory_ = std::move(directory);

  absl::StatusOr<WritingConnection> writing = OpenForWriting(path);
  if (!writing.ok()) return writing.status();
  store->writing_ = *std::move(writing);
  absl::StatusOr<std::int64_t> start_count =
      StartDatabase(store->writing_.get(), options);
  if (!start_count.ok()) return start_count.status();
  store->start_count_ = *start_count;
  store->relaxed_ = options.durability == Durability::kRelaxed;

  absl::StatusOr<std::unique_ptr<SqliteConnection>> reading =
      SqliteConnection::Open(path, SQLITE_OPEN_READONLY);
  if (!reading.ok()) return reading.status();
  absl::StatusOr<std::unique_ptr<SqliteReader>> reader =
      SqliteReader::Create(*std::move(reading));
  if (!reader.ok()) return reader.status();
  store->reader_ = *std::move(reader);

  absl::StatusOr<std::unique_ptr<SqliteCommitter>> committer =
      SqliteCommitter::Start(store->writing_.get(), options);
  if (!committer.ok()) return committer.status();
  store->committer_ = *std::move(committer);
  return store;
}

absl::StatusOr<std::optional<StoredSession>> SqliteStore::Reload(
    std::string_view session_uid) {
  if (committer_->in_doubt()) {
    return StoreUnavailable(
        "nobody knows yet what became of the last write; try again when the "
        "store works again");
  }
  return reader_->Load(session_uid);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(
    const std::string& directory, const SqliteOptions& options) {
  const std::string path = absl::StrCat(directory, "/lossscaler.db");
  // Before the lock, whose file would be a trace in a folder of somebody else.
  if (absl::Status status = RecogniseDatabase(path); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<StateDirectory>> locked =
      StateDirectory::Acquire(directory);
  if (!locked.ok()) return locked.status();
  if (absl::Status status = CreateDatabaseIfMissing(path); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckDatabase(path); !status.ok()) return status;
  return SqliteStore::Open(*std::move(locked), path, options);
}

}  // namespace lossscaler::server
