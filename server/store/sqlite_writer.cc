// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_writer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/memory/memory.h"
#include "lossscaler/core/pass_over_lost.h"
#include "lossscaler/core/solo.h"
#include "store/journal.h"
#include "store/record_codec.h"
#include "store/store_errors.h"

namespace lossscaler::server {
namespace {

// One prune removes at most this many decisions, so that no transaction takes
// long; it runs often enough to catch up.
constexpr std::int64_t kMaxPruned = 4 * kPruneInterval;

constexpr std::int64_t kProbeBytes = 64 << 10;

}  // namespace

SqliteWriter::SqliteWriter(SqliteConnection* connection,
                           const SqliteOptions& options)
    : connection_(connection),
      journal_decisions_(
          std::max(options.journal_decisions, kReplayableDecisions)),
      journal_age_(options.journal_age) {}

absl::StatusOr<std::unique_ptr<SqliteWriter>> SqliteWriter::Create(
    SqliteConnection* connection, const SqliteOptions& options) {
  auto writer = absl::WrapUnique(new SqliteWriter(connection, options));
  if (absl::Status status = writer->Prepare(); !status.ok()) return status;
  return writer;
}

absl::Status SqliteWriter::Prepare() {
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&savepoint_, "SAVEPOINT one_write"},
      {&release_, "RELEASE one_write"},
      {&rollback_, "ROLLBACK TO one_write"},
      {&insert_session_,
       "INSERT INTO sessions(uid, name, revision, record) VALUES (?, ?, ?, ?)"},
      {&update_session_,
       "UPDATE sessions SET revision = ?2, record = ?3, "
       "loss = CASE WHEN ?4 THEN 0 ELSE loss END "
       "WHERE uid = ?1 AND revision = ?2 - 1"},
      {&delete_session_,
       "DELETE FROM sessions WHERE uid = ?1 AND revision = ?2 - 1"},
      {&insert_decision_,
       "INSERT INTO decisions(session_uid, step, outcome, reason, decide_time, "
       "request_id, decision, iteration, iterations_in_votes) "
       "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&delete_decisions_, "DELETE FROM decisions WHERE session_uid = ?"},
      {&oldest_step_,
       "SELECT step FROM decisions WHERE session_uid = ? ORDER BY step LIMIT "
       "1"},
      {&nth_newest_step_,
       "SELECT step FROM decisions WHERE session_uid = ? ORDER BY step DESC "
       "LIMIT 1 OFFSET ?"},
      {&first_young_step_,
       "SELECT step FROM decisions WHERE session_uid = ? AND step >= ? AND "
       "step < ? AND decide_time >= ? ORDER BY step LIMIT 1"},
      {&prune_decisions_,
       "DELETE FROM decisions WHERE session_uid = ? AND step < ?"},
      {&insert_deletion_,
       "INSERT OR REPLACE INTO deletions(request_id, session, session_uid, "
       "delete_time) VALUES (?, ?, ?, ?)"},
      {&prune_deletions_,
       "DELETE FROM deletions WHERE ordinal <= last_insert_rowid() - ?"},
      {&insert_probe_, "INSERT INTO probes(payload) VALUES (zeroblob(?))"},
      {&delete_probe_, "DELETE FROM probes"},
  };
  for (const auto& [statement, sql] : statements) {
    absl::StatusOr<SqliteStatement> prepared = connection_->Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

SqliteWriter::Outcome SqliteWriter::Apply(const Write& write) {
  int code = savepoint_.Run();
  if (code != SQLITE_OK) {
    return {Applied::kFailed, SqliteError("write", code, *connection_)};
  }
  code = Change(write);
  // Before the clean-up, which has words of its own.
  const std::string error_text = connection_->error_text();
  if (code == SQLITE_OK) code = release_.Run();
  if (code == SQLITE_OK) return {};
  if (connection_->in_transaction() && rollback_.Run() == SQLITE_OK) {
    release_.Run();
  } else if (connection_->in_transaction()) {
    // What is left of the write cannot be told from the rest of the group.
    connection_->Execute("ROLLBACK");
  }
  if ((code & 0xff) == SQLITE_CONSTRAINT) {
    return {Applied::kConflict, WriteConflict(write.state)};
  }
  return {Applied::kFailed,
          SqliteError("write", code, connection_->path(), error_text)};
}

int SqliteWriter::Probe() {
  const int code = insert_probe_.Run(kProbeBytes);
  return code == SQLITE_OK ? delete_probe_.Run() : code;
}

int SqliteWriter::Change(const Write& write) {
  if (write.deletion) return Delete(write.state, *write.deletion);
  const bool restored =
      write.decision && write.decision->reason == DecisionReason::kRestored;
  int code = PutState(write.state, restored);
  if (code != SQLITE_OK || !write.decision) return code;
  code = PutDecision(write.state.uid, *write.decision);
  if (code != SQLITE_OK || write.decision->step % kPruneInterval != 0) {
    return code;
  }
  return Prune(write.state.uid, *write.decision);
}

int SqliteWriter::PutState(const SessionState& state, bool restored) {
  const std::string record = EncodeSession(state);
  if (state.revision == 1) {
    return insert_session_.Run(std::string_view(state.uid),
                               std::string_view(state.name), state.revision,
                               Blob{record});
  }
  return ExpectOneChange(update_session_.Run(std::string_view(state.uid),
                                             state.revision, Blob{record},
                                             std::int64_t{restored}));
}

int SqliteWriter::PutDecision(const std::string& session_uid,
                              const Decision& decision) {
  const std::string record = EncodeDecision(decision);
  const Iterations iterations = IterationsOf(decision);
  return insert_decision_.Run(
      std::string_view(session_uid), decision.step,
      OutcomeName(decision.outcome), DecisionReasonName(decision.reason),
      absl::ToUnixMicros(decision.decide_time), RequestIdOf(decision),
      Blob{record}, iterations.one, std::int64_t{iterations.several});
}

int SqliteWriter::Prune(const std::string& session_uid,
                        const Decision& latest) {
  const std::string_view uid = session_uid;
  std::int64_t oldest = latest.step;
  {
    SqliteQuery query(&oldest_step_, uid);
    if (query.Next()) oldest = query.Int(0);
    if (query.code() != SQLITE_OK) return query.code();
  }
  const std::int64_t reach = oldest + kMaxPruned;
  // Times rise with steps, but for changes of the clock: it is enough to look
  // for the first decision that is young enough.
  std::int64_t first_young = reach;
  {
    const std::int64_t cutoff =
        absl::ToUnixMicros(latest.decide_time - journal_age_);
    SqliteQuery query(&first_young_step_, uid, oldest, reach, cutoff);
    if (query.Next()) first_young = query.Int(0);
    if (query.code() != SQLITE_OK) return query.code();
  }
  std::int64_t by_count = latest.step - journal_decisions_ + 1;
  // Where numbers were passed over, rows have to be counted.
  if (latest.step - oldest >= kLostAtMost) {
    SqliteQuery query(&nth_newest_step_, uid, journal_decisions_ - 1);
    by_count = query.Next() ? query.Int(0) : oldest;
    if (query.code() != SQLITE_OK) return query.code();
  }
  const std::int64_t by_age =
      std::min(first_young, latest.step - kReplayableDecisions + 1);
  const std::int64_t first_kept = std::min(std::max(by_count, by_age), reach);
  if (first_kept <= oldest) return SQLITE_OK;
  return prune_decisions_.Run(uid, first_kept);
}

int SqliteWriter::Delete(const SessionState& state, const Deletion& deletion) {
  const std::string_view uid = state.uid;
  int code = ExpectOneChange(delete_session_.Run(uid, state.revision));
  if (code == SQLITE_OK) code = delete_decisions_.Run(uid);
  if (code != SQLITE_OK || deletion.request_id.empty()) return code;
  code = insert_deletion_.Run(std::string_view(deletion.request_id),
                              std::string_view(deletion.session),
                              std::string_view(deletion.session_uid),
                              absl::ToUnixMicros(deletion.time));
  return code == SQLITE_OK ? prune_deletions_.Run(kDeletionsKept) : code;
}

int SqliteWriter::ExpectOneChange(int code) const {
  if (code != SQLITE_OK) return code;
  return connection_->changes() == 1 ? SQLITE_OK : SQLITE_CONSTRAINT;
}

}  // namespace lossscaler::server
