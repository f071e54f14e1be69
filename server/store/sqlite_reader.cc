// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_reader.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "store/journal.h"
#include "store/record_codec.h"
#include "store/sqlite_schema.h"
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
  std::int64_t version = 0;
  if (const int code = ReadSchemaVersion(connection_.get(), &version);
      code != SQLITE_OK) {
    return Failure(code);
  }
  // The columns of StoredSession; loss came with version 2.
  const std::string sessions =
      absl::StrCat("SELECT uid, name, revision, record, ",
                   version < 2 ? "0" : "loss", " FROM sessions");
  absl::Status status = PrepareAll({
      {&all_sessions_, absl::StrCat(sessions, " ORDER BY name")},
      {&session_, absl::StrCat(sessions, " WHERE uid = ?")},
      {&recent_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? "
       "ORDER BY step DESC LIMIT ?"},
      {&decision_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? AND "
       "step = ?"},
      {&decision_by_request_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? AND "
       "request_id = ? AND request_id <> '' ORDER BY step DESC LIMIT 1"},
      {&list_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? AND "
       "step < ? ORDER BY step DESC LIMIT ?"},
      {&read_on_,
       "SELECT step, decision FROM decisions WHERE session_uid = ? AND "
       "step >= ? ORDER BY step LIMIT ?"},
      {&deletion_,
       "SELECT request_id, session, session_uid, delete_time FROM deletions "
       "WHERE request_id = ?"},
  });
  if (!status.ok() || version < 2) return status;
  // Two indices, each in the order of steps, are merged as they are read.
  return PrepareAll({{&list_by_iteration_,
                      "SELECT step, decision FROM decisions "
                      "INDEXED BY decisions_by_iteration "
                      "WHERE session_uid = ?1 AND iteration = ?2 AND step < ?3 "
                      "UNION ALL SELECT step, decision FROM decisions "
                      "INDEXED BY decisions_by_votes "
                      "WHERE session_uid = ?1 AND iterations_in_votes = 1 AND "
                      "step < ?3 ORDER BY step DESC"}});
}

absl::Status SqliteReader::PrepareAll(
    std::initializer_list<std::pair<SqliteStatement*, std::string>>
        statements) {
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
    StoredSession session{
        .state = *std::move(state), .recent = {}, .loss = query.Int(4)};
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
  StoredSession session{
      .state = *std::move(state), .recent = {}, .loss = query.Int(4)};
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

absl::StatusOr<std::vector<Decision>> SqliteReader::Collect(
    SqliteQuery* query, std::string_view session_uid, int limit,
    const std::function<bool(const Decision&)>& matches) const {
  std::vector<Decision> decisions;
  while (std::ssize(decisions) < limit && query->Next()) {
    absl::StatusOr<Decision> decision = DecisionOf(*query, session_uid);
    if (!decision.ok()) return decision.status();
    if (matches(*decision)) decisions.push_back(*std::move(decision));
  }
  if (query->code() != SQLITE_OK) return Failure(query->code());
  return decisions;
}

absl::StatusOr<std::vector<Decision>> SqliteReader::ListDecisions(
    std::string_view session_uid, std::int64_t before_step, int limit) {
  MutexLock lock(&mutex_);
  const std::int64_t rows = limit;
  SqliteQuery query(&list_, session_uid, before_step, rows);
  return Collect(&query, session_uid, limit,
                 [](const Decision&) { return true; });
}

absl::StatusOr<std::vector<Decision>> SqliteReader::ListDecisionsByIteration(
    std::string_view session_uid, std::int64_t iteration,
    std::int64_t before_step, int limit) {
  MutexLock lock(&mutex_);
  SqliteQuery query(&list_by_iteration_, session_uid, iteration, before_step);
  return Collect(&query, session_uid, limit, [&](const Decision& decision) {
    return NamesIteration(decision, iteration);
  });
}

absl::StatusOr<std::vector<Decision>> SqliteReader::ReadDecisions(
    std::string_view session_uid, std::int64_t from_step, int limit) {
  MutexLock lock(&mutex_);
  const std::int64_t rows = limit;
  SqliteQuery query(&read_on_, session_uid, from_step, rows);
  return Collect(&query, session_uid, limit,
                 [](const Decision&) { return true; });
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
