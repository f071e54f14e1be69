// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// SqliteCommitter: writes one transaction at a time.
//
// Its thread groups whatever is waiting into one transaction, so that many
// writers share the cost of one fdatasync, and releases the answers when the
// transaction is on disk. A write that conflicts does not harm the others of
// its group; on a full disk SQLite gives up the transaction and with it the
// group.
//
// With relaxed durability a transaction waits for no disk, and costs less than
// waking a thread twice: the caller writes it itself, unless another one is
// under way. Moving the log into the database, which does wait for the disk, is
// left to the thread.
//
// After a failure the thread tries a small write of its own every
// probe_interval, so that Health() recovers without traffic.
//
// Thread safety: any thread. Callbacks run on the committer's thread or the
// calling one, without a lock, so they may call anything here.

#ifndef LOSSSCALER_SERVER_STORE_SQLITE_COMMITTER_H_
#define LOSSSCALER_SERVER_STORE_SQLITE_COMMITTER_H_

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/sync/mutex.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_options.h"
#include "store/sqlite_writer.h"
#include "store/store.h"

namespace lossscaler::server {

class SqliteCommitter {
 public:
  // `connection` is used by the committer alone until it is destroyed.
  static absl::StatusOr<std::unique_ptr<SqliteCommitter>> Start(
      SqliteConnection* connection, const SqliteOptions& options);

  // Answers everything that was enqueued, then ends the thread.
  ~SqliteCommitter() ABSL_LOCKS_EXCLUDED(mutex_);
  SqliteCommitter(const SqliteCommitter&) = delete;
  SqliteCommitter& operator=(const SqliteCommitter&) = delete;

  void Enqueue(Write write, Store::Done done) ABSL_LOCKS_EXCLUDED(mutex_);

  // OK while the last transaction, and every write in it but for conflicts,
  // succeeded.
  absl::Status Health() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether a COMMIT failed such that its pages may be in the log on disk, and
  // nothing was written over them yet: after a crash they would count, although
  // no reader sees them now.
  bool in_doubt() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    Write write;
    Store::Done done;
    WriteResult result = WriteResult::kNotDone;
    absl::Status status;
  };
  using Group = std::vector<Waiting>;

  SqliteCommitter(SqliteConnection* connection,
                  std::unique_ptr<SqliteWriter> writer,
                  const SqliteOptions& options);

  // What the thread does next; whoever does something has set busy_.
  enum class Task { kCommit, kShortenLog, kProbe, kStop };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for it; a group for kCommit. kStop: nothing is left.
  Task AwaitTask(Group* group) ABSL_LOCKS_EXCLUDED(mutex_);
  bool MayCommitHere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeGroup(Group* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Commits the group that was taken and answers it.
  void Serve(Group* group) ABSL_LOCKS_EXCLUDED(mutex_);
  void CommitGroup(Group* group) ABSL_LOCKS_EXCLUDED(mutex_);
  void ShortenLog();
  void Probe() ABSL_LOCKS_EXCLUDED(mutex_);
  void SetIdle() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status Begin();
  // Ends the transaction. kDone, kNotDone or kUnknown for all of it.
  WriteResult End(absl::Status* status);
  void Abandon();

  void SetHealth(absl::Status health, bool in_doubt)
      ABSL_LOCKS_EXCLUDED(mutex_);

  SqliteConnection* const connection_;
  const std::unique_ptr<SqliteWriter> writer_;
  const SqliteOptions options_;
  // Belongs to whoever has set busy_, and to the lock while nobody has.
  bool log_is_long_ = false;

  Mutex mutex_;
  CondVar wake_;
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  // Somebody uses the connection.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  bool in_doubt_ ABSL_GUARDED_BY(mutex_) = false;

  // Last: it uses everything above.
  std::thread thread_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_SQLITE_COMMITTER_H_
