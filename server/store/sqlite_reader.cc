// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "store/record_codec.h"
#include "store/store_errors.h"

namespace lossscaler::server {
namespace {

absl::Status UnreadableRecord(const std::string& what) {
  return StoreUnavailable(
      absl::StrCat("the database holds a record that cannot be used: ", what,
                   "; stop the server and restore a backup"),
      {{"record", what}});
}

// From columns uid, name, revision, record.
absl::StatusOr<SessionState> SessionOf(const SqliteQuery& row) {
  const std::string uid(row.Bytes(0));
  absl::StatusOr<SessionState> state = DecodeSession(row.Bytes(3));
  if (!state.ok()) {
    return UnreadableRecord(absl::StrCat(
        "session ", uid, ": ", std::string(state.status().message())));
  }
  if (state->uid != uid || state->name != row.Bytes(1) ||
      state->revision != row.Int(2)) {
    return UnreadableRecord(absl::StrCat("the row of session ", uid,
                                         " holds revision ", state->revision,
                                         " of session ", state->uid));
  }
  return state;
}

// From columns step, decision.
absl::StatusOr<Decision> DecisionOf(const SqliteQuery& row,
                                    std::string_view session_uid) {
  absl::StatusOr<Decision> decision = DecodeDecision(row.Bytes(1));
  if (!decision.ok()) {
    return UnreadableRecord(absl::StrCat(
        "step ", row.Int(0), " of session ", std::string(session_uid), ": ",
        std::string(decision.status().message())));
  }
  if (decision->step != row.Int(0)) {
    return UnreadableRecord(
        absl::StrCat("the row of step ", row.Int(0), " of session ",
                     std::string(session_uid), " holds step ", decision->step));
  }
  return decision;
}

}  // namespace

SqliteReader::SqliteReader(std::unique_ptr<SqliteConnection> connection)
    : connection_(std::move(connection)) {}

absl::StatusOr<std::unique_ptr<SqliteReader>> SqliteReader::Create(
    std::unique_ptr<SqliteConnection> connection) {
  auto reader = absl::WrapUnique(new SqliteReader(std::move(connection)));
  MutexLock lock(&reader->mutex_);
  if (absl::Status status = reader->Prepare(); !status.ok()) return status;
  return reader;
}

absl::Status SqliteReader::Prepare() {
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&all_sessions_,
       "SELECT uid, name, revision, record FROM sessions ORDER BY name"},
      {&session_,
       "SELECT uid, name, revision, record FROM sessions WHERE uid = ?"},
      {&recent_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? "
       "ORDER BY step DESC LIMIT ?"},
      {&decision_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? AND "
       "step = ?"},
      {&decision_by_request_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? AND "
       "request_id = ? AND request_id <> '' ORDER BY step DESC LIMIT 1"},
      {&deletion_,
       "SELECT request_id, session, session_uid, delete_time FROM deletions "
       "WHERE request_id = ?"},
  };
  for (const auto& [statement, sql] : statements) {
    absl::StatusOr<SqliteStatement> prepared = connection_->Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::Status SqliteReader::Failure(int code) const {
  return SqliteError("read", code, *connection_);
}

absl::Status SqliteReader::LoadRecent(StoredSession* session) {
  SqliteQuery query(&recent_, std::string_view(session->state.uid),
                    std::int64_t{kDecisionsInMemory});
  while (query.Next()) {
    absl::StatusOr<Decision> decision = DecisionOf(query, session->state.uid);
    if (!decision.ok()) return decision.status();
    session->recent.push_back(*std::move(decision));
  }
  if (query.code() != SQLITE_OK) return Failure(query.code());
  std::reverse(session->recent.begin(), session->recent.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoredSession>> SqliteReader::LoadAll() {
  MutexLock lock(&mutex_);
  std::vector<StoredSession> sessions;
  SqliteQuery query(&all_sessions_);
  while (query.Next()) {
    absl::StatusOr<SessionState> state = SessionOf(query);
    if (!state.ok()) return state.status();
    StoredSession session{.state = *std::move(state), .recent = {}};
    if (absl::Status status = LoadRecent(&session); !status.ok()) return status;
    sessions.push_back(std::move(session));
  }
  if (query.code() != SQLITE_OK) return Failure(query.code());
  return sessions;
}

absl::StatusOr<std::optional<StoredSession>> SqliteReader::Load(
    std::string_view session_uid) {
  MutexLock lock(&mutex_);
  // The row stays open while its decisions are read: one snapshot for both.
  SqliteQuery query(&session_, session_uid);
  if (!query.Next()) {
    if (query.code() != SQLITE_OK) return Failure(query.code());
    return std::nullopt;
  }
  absl::StatusOr<SessionState> state = SessionOf(query);
  if (!state.ok()) return state.status();
  StoredSession session{.state = *std::move(state), .recent = {}};
  if (absl::Status status = LoadRecent(&session); !status.ok()) return status;
  return session;
}

absl::StatusOr<std::optional<Decision>> SqliteReader::FindDecision(
    std::string_view session_uid, std::int64_t step) {
  MutexLock lock(&mutex_);
  SqliteQuery query(&decision_, session_uid, step);
  if (query.Next()) return DecisionOf(query, session_uid);
  if (query.code() != SQLITE_OK) return Failure(query.code());
  return std::nullopt;
}

absl::StatusOr<std::optional<Decision>> SqliteReader::FindDecisionByRequest(
    std::string_view session_uid, std::string_view request_id) {
  MutexLock lock(&mutex_);
  SqliteQuery query(&decision_by_request_, session_uid, request_id);
  if (query.Next()) return DecisionOf(query, session_uid);
  if (query.code() != SQLITE_OK) return Failure(query.code());
  return std::nullopt;
}

absl::StatusOr<std::optional<Deletion>> SqliteReader::FindDeletion(
    std::string_view request_id) {
  MutexLock lock(&mutex_);
  SqliteQuery query(&deletion_, request_id);
  if (query.Next()) {
    return Deletion{.request_id = std::string(query.Bytes(0)),
                    .session = std::string(query.Bytes(1)),
                    .session_uid = std::string(query.Bytes(2)),
                    .time = absl::FromUnixMicros(query.Int(3))};
  }
  if (query.code() != SQLITE_OK) return Failure(query.code());
  return std::nullopt;
}

}  // namespace lossscaler::server
