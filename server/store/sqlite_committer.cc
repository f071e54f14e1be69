// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sqlite_committer.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "store/store_errors.h"

namespace lossscaler::server {
namespace {

// Bounds how long the first of a group waits for the last.
constexpr std::size_t kMaxGroup = 1024;

// Pages of the log from which on they are moved into the database: what SQLite
// does itself by default, within a COMMIT.
constexpr int kLongLog = 1000;

// Whether a COMMIT that ended so is certainly not in the log. Anything else, an
// I/O error above all, may have come after the last page was written.
bool SurelyRolledBack(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_CONSTRAINT:
    case SQLITE_FULL:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteCommitter>> SqliteCommitter::Start(
    SqliteConnection* connection, const SqliteOptions& options) {
  absl::StatusOr<std::unique_ptr<SqliteWriter>> writer =
      SqliteWriter::Create(connection, options);
  if (!writer.ok()) return writer.status();
  return absl::WrapUnique(
      new SqliteCommitter(connection, *std::move(writer), options));
}

SqliteCommitter::SqliteCommitter(SqliteConnection* connection,
                                 std::unique_ptr<SqliteWriter> writer,
                                 const SqliteOptions& options)
    : connection_(connection), writer_(std::move(writer)), options_(options) {
  sqlite3_wal_hook(
      connection_->handle(),
      [](void* committer, sqlite3*, const char*, int pages) {
        static_cast<SqliteCommitter*>(committer)->log_is_long_ =
            pages >= kLongLog;
        return SQLITE_OK;
      },
      this);
  thread_ = std::thread([this] { Run(); });
}

SqliteCommitter::~SqliteCommitter() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    wake_.Signal();
  }
  thread_.join();
  // In place of the hook.
  sqlite3_wal_autocheckpoint(connection_->handle(), kLongLog);
}

void SqliteCommitter::Enqueue(Write write, Store::Done done) {
  Group group;
  {
    MutexLock lock(&mutex_);
    queue_.push_back(
        {.write = std::move(write), .done = std::move(done), .status = {}});
    if (busy_) return;
    if (!MayCommitHere()) {
      wake_.Signal();
      return;
    }
    TakeGroup(&group);
  }
  Serve(&group);
}

bool SqliteCommitter::MayCommitHere() const {
  // An fdatasync would hold up whatever else the caller has to do, above all
  // the writes that could share it.
  return options_.durability == Durability::kRelaxed && queue_.size() == 1 &&
         health_.ok() && !log_is_long_;
}

absl::Status SqliteCommitter::Health() {
  MutexLock lock(&mutex_);
  return health_;
}

bool SqliteCommitter::in_doubt() {
  MutexLock lock(&mutex_);
  return in_doubt_;
}

void SqliteCommitter::Run() {
  Group group;
  while (true) {
    switch (AwaitTask(&group)) {
      case Task::kCommit:
        Serve(&group);
        group.clear();
        break;
      case Task::kShortenLog:
        ShortenLog();
        SetIdle();
        break;
      case Task::kProbe:
        Probe();
        SetIdle();
        break;
      case Task::kStop:
        return;
    }
  }
}

SqliteCommitter::Task SqliteCommitter::AwaitTask(Group* group) {
  MutexLock lock(&mutex_);
  bool probe = false;
  while (busy_ || (queue_.empty() && !log_is_long_ && !stopping_ && !probe)) {
    if (health_.ok()) {
      wake_.Wait(&mutex_);
    } else {
      probe = !wake_.WaitFor(&mutex_, options_.probe_interval);
    }
  }
  if (!queue_.empty() && !log_is_long_) {
    TakeGroup(group);
    return Task::kCommit;
  }
  if (!log_is_long_ && stopping_) return Task::kStop;
  busy_ = true;
  return log_is_long_ ? Task::kShortenLog : Task::kProbe;
}

void SqliteCommitter::TakeGroup(Group* group) {
  busy_ = true;
  while (!queue_.empty() && group->size() < kMaxGroup) {
    group->push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
}

void SqliteCommitter::Serve(Group* group) {
  CommitGroup(group);
  // Before the answers, so that whoever reads again in one learns the truth.
  if (in_doubt()) Probe();
  SetIdle();
  for (Waiting& waiting : *group) {
    waiting.done(waiting.result, std::move(waiting.status));
  }
}

void SqliteCommitter::SetIdle() {
  MutexLock lock(&mutex_);
  busy_ = false;
  if (!queue_.empty() || log_is_long_ || !health_.ok() || stopping_) {
    wake_.Signal();
  }
}

void SqliteCommitter::ShortenLog() {
  log_is_long_ = false;
  // If a reader is in the way or the disk fails, the log stays longer, and the
  // next commit finds it so.
  sqlite3_wal_checkpoint_v2(connection_->handle(), nullptr,
                            SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void SqliteCommitter::CommitGroup(Group* group) {
  if (absl::Status status = Begin(); !status.ok()) {
    for (Waiting& waiting : *group) waiting.status = status;
    SetHealth(status, in_doubt());
    return;
  }
  // kDone means "applied" until the transaction has ended.
  absl::Status health;
  std::size_t applied = 0;
  for (Waiting& waiting : *group) {
    SqliteWriter::Outcome outcome = writer_->Apply(waiting.write);
    if (outcome.applied == SqliteWriter::Applied::kYes) {
      waiting.result = WriteResult::kDone;
      ++applied;
      continue;
    }
    waiting.status = outcome.status;
    if (outcome.applied == SqliteWriter::Applied::kFailed) {
      health = outcome.status;
    }
    if (connection_->in_transaction()) continue;
    // The database gave up the whole transaction.
    for (Waiting& other : *group) {
      other.result = WriteResult::kNotDone;
      if (other.status.ok()) other.status = outcome.status;
    }
    SetHealth(outcome.status, in_doubt());
    return;
  }
  if (applied == 0) {
    // A group of conflicts says nothing about the database.
    Abandon();
    if (!health.ok()) SetHealth(health, in_doubt());
    return;
  }
  absl::Status status;
  const WriteResult result = End(&status);
  if (result != WriteResult::kDone) {
    health = status;
    for (Waiting& waiting : *group) {
      if (waiting.result != WriteResult::kDone) continue;
      waiting.result = result;
      waiting.status = status;
    }
  }
  SetHealth(health, result == WriteResult::kUnknown ||
                        (result == WriteResult::kNotDone && in_doubt()));
}

void SqliteCommitter::Probe() {
  absl::Status status = Begin();
  if (!status.ok()) {
    SetHealth(status, in_doubt());
    return;
  }
  if (const int code = writer_->Probe(); code != SQLITE_OK) {
    status = SqliteError("write", code, *connection_);
    Abandon();
    SetHealth(status, in_doubt());
    return;
  }
  const WriteResult result = End(&status);
  SetHealth(status, result == WriteResult::kUnknown ||
                        (result == WriteResult::kNotDone && in_doubt()));
}

absl::Status SqliteCommitter::Begin() {
  if (options_.max_page_count) {
    connection_->Execute(
        absl::StrCat("PRAGMA max_page_count = ", options_.max_page_count()));
  }
  const int code = connection_->Execute("BEGIN IMMEDIATE");
  return code == SQLITE_OK ? absl::OkStatus()
                           : SqliteError("write", code, *connection_);
}

WriteResult SqliteCommitter::End(absl::Status* status) {
  int code = options_.before_commit ? options_.before_commit() : SQLITE_OK;
  std::string text = sqlite3_errstr(code);
  if (code == SQLITE_OK) {
    code = connection_->Execute("COMMIT");
    if (code == SQLITE_OK) return WriteResult::kDone;
    text = connection_->error_text();
  }
  *status = SqliteError("commit to", code, connection_->path(), text);
  Abandon();
  return SurelyRolledBack(code) ? WriteResult::kNotDone : WriteResult::kUnknown;
}

void SqliteCommitter::Abandon() {
  if (connection_->in_transaction()) connection_->Execute("ROLLBACK");
}

void SqliteCommitter::SetHealth(absl::Status health, bool in_doubt) {
  MutexLock lock(&mutex_);
  health_ = std::move(health);
  in_doubt_ = in_doubt;
}

}  // namespace lossscaler::server
