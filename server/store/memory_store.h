// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// MemoryStore: a store that forgets everything when it is destroyed.
//
// For tests, demos and runs that can lose their scale. It keeps the same
// promises as the sqlite store except to outlive the process, and a shorter
// journal: the kReplayableDecisions latest of each session.
//
// Commit() answers before it returns. Thread safety: any thread.

#ifndef LOSSSCALER_SERVER_STORE_MEMORY_STORE_H_
#define LOSSSCALER_SERVER_STORE_MEMORY_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/sync/mutex.h"
#include "store/store.h"

namespace lossscaler::server {

class MemoryStore final : public Store {
 public:
  std::string_view name() const override { return "memory"; }
  std::string_view durability() const override { return "none"; }
  std::int64_t start_count() const override { return 1; }

  absl::StatusOr<std::vector<StoredSession>> LoadAll() override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Commit(Write write, Done done) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<StoredSession>> Reload(
      std::string_view session_uid) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step,
      int limit) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step, int limit) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::optional<Deletion>> FindDeletion(
      std::string_view request_id) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Health() override { return absl::OkStatus(); }

 private:
  // By step, ascending.
  using Journal = std::map<std::int64_t, Decision>;
  struct Entry {
    SessionState state;
    Journal journal;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  // Whether the write was made against the stored state.
  bool Follows(const Write& write) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Apply(Write write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(Deletion deletion) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static StoredSession Snapshot(const Entry& entry);
  // Decisions below `before_step` that `matches`, newest first.
  absl::StatusOr<std::vector<Decision>> Page(
      std::string_view session_uid, std::int64_t before_step, int limit,
      const std::function<bool(const Decision&)>& matches)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  // By uid.
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  // uid by name.
  std::map<std::string, std::string, std::less<>> uids_ ABSL_GUARDED_BY(mutex_);
  // By request id.
  std::map<std::string, Deletion, std::less<>> deletions_
      ABSL_GUARDED_BY(mutex_);
  // Their request ids, oldest first.
  std::deque<std::string> deletion_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_MEMORY_STORE_H_
