// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SqliteReader: everything that reads the database.
//
// It has a connection of its own, so that reads see what is committed and never
// wait for the committer. It reads databases of older schemas too, but finds no
// iterations in them.
//
// Errors are STORE_UNAVAILABLE, also for records that cannot be decoded or do
// not belong to the row they stand in.
//
// Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_READER_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_READER_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/sync/mutex.h"
#include "store/sqlite_connection.h"
#include "store/store.h"

namespace lossscaler::server {

class SqliteReader {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteReader>> Create(
      std::unique_ptr<SqliteConnection> connection);

  // The methods of Store.
  absl::StatusOr<std::vector<StoredSession>> LoadAll()
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<StoredSession>> Load(
      std::string_view session_uid) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step, int limit)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step, int limit)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<Deletion>> FindDeletion(
      std::string_view request_id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit SqliteReader(std::unique_ptr<SqliteConnection> connection);

  absl::Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PrepareAll(
      std::initializer_list<std::pair<SqliteStatement*, std::string>>
          statements) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The rows of a query that starts with step and decision, at most `limit` of
  // those that `matches`.
  absl::StatusOr<std::vector<Decision>> Collect(
      SqliteQuery* query, std::string_view session_uid, int limit,
      const std::function<bool(const Decision&)>& matches) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LoadRecent(StoredSession* session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Failure(int code) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  // Before the statements, which must go first.
  const std::unique_ptr<SqliteConnection> connection_
      ABSL_PT_GUARDED_BY(mutex_);
  SqliteStatement all_sessions_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement session_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement recent_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement decision_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement decision_by_request_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement list_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement list_by_iteration_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement read_on_ ABSL_GUARDED_BY(mutex_);
  SqliteStatement deletion_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_READER_H_
