// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "store/memory_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lossscaler/core/solo.h"
#include "store/journal.h"
#include "store/store_errors.h"

namespace lossscaler::server {

StoredSession MemoryStore::Snapshot(const Entry& entry) {
  StoredSession session{.state = entry.state, .recent = {}};
  const auto kept = std::min<std::ptrdiff_t>(
      kDecisionsInMemory, static_cast<std::ptrdiff_t>(entry.journal.size()));
  for (auto it = std::prev(entry.journal.end(), kept);
       it != entry.journal.end(); ++it) {
    session.recent.push_back(it->second);
  }
  return session;
}

absl::StatusOr<std::vector<StoredSession>> MemoryStore::LoadAll() {
  MutexLock lock(&mutex_);
  std::vector<StoredSession> sessions;
  sessions.reserve(uids_.size());
  for (const auto& [session_name, uid] : uids_) {
    sessions.push_back(Snapshot(entries_.at(uid)));
  }
  return sessions;
}

bool MemoryStore::Follows(const Write& write) const {
  const auto entry = entries_.find(write.state.uid);
  if (entry == entries_.end()) {
    return write.state.revision == 1 && !write.deletion &&
           uids_.find(write.state.name) == uids_.end();
  }
  if (entry->second.state.revision + 1 != write.state.revision) return false;
  return write.deletion || !write.decision ||
         !entry->second.journal.contains(write.decision->step);
}

void MemoryStore::Apply(Write write) {
  if (write.deletion) {
    entries_.erase(write.state.uid);
    uids_.erase(write.state.name);
    if (!write.deletion->request_id.empty()) {
      Remember(*std::move(write.deletion));
    }
    return;
  }
  Entry& entry = entries_[write.state.uid];
  uids_[write.state.name] = write.state.uid;
  entry.state = std::move(write.state);
  if (!write.decision) return;
  const std::int64_t step = write.decision->step;
  entry.journal.emplace(step, *std::move(write.decision));
  while (static_cast<std::int64_t>(entry.journal.size()) >
         kReplayableDecisions) {
    entry.journal.erase(entry.journal.begin());
  }
}

void MemoryStore::Remember(Deletion deletion) {
  std::string request_id = deletion.request_id;
  // One that was used before keeps its place in the order.
  if (!deletions_.insert_or_assign(request_id, std::move(deletion)).second) {
    return;
  }
  deletion_order_.push_back(std::move(request_id));
  if (static_cast<std::int64_t>(deletion_order_.size()) > kDeletionsKept) {
    deletions_.erase(deletion_order_.front());
    deletion_order_.pop_front();
  }
}

void MemoryStore::Commit(Write write, Done done) {
  absl::Status conflict;
  {
    MutexLock lock(&mutex_);
    if (Follows(write)) {
      Apply(std::move(write));
    } else {
      conflict = WriteConflict(write.state);
    }
  }
  done(conflict.ok() ? WriteResult::kDone : WriteResult::kNotDone, conflict);
}

absl::StatusOr<std::optional<StoredSession>> MemoryStore::Reload(
    std::string_view session_uid) {
  MutexLock lock(&mutex_);
  const auto entry = entries_.find(session_uid);
  if (entry == entries_.end()) return std::nullopt;
  return Snapshot(entry->second);
}

absl::StatusOr<std::optional<Decision>> MemoryStore::FindDecision(
    std::string_view session_uid, std::int64_t step) {
  MutexLock lock(&mutex_);
  const auto entry = entries_.find(session_uid);
  if (entry == entries_.end()) return std::nullopt;
  const auto decision = entry->second.journal.find(step);
  if (decision == entry->second.journal.end()) return std::nullopt;
  return decision->second;
}

absl::StatusOr<std::optional<Decision>> MemoryStore::FindDecisionByRequest(
    std::string_view session_uid, std::string_view request_id) {
  // Decisions without a request id have an empty one, which finds nothing.
  if (request_id.empty()) return std::nullopt;
  MutexLock lock(&mutex_);
  const auto entry = entries_.find(session_uid);
  if (entry == entries_.end()) return std::nullopt;
  const auto& journal = entry->second.journal;
  for (auto it = journal.rbegin(); it != journal.rend(); ++it) {
    if (RequestIdOf(it->second) == request_id) return it->second;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Decision>> MemoryStore::Page(
    std::string_view session_uid, std::int64_t before_step, int limit,
    const std::function<bool(const Decision&)>& matches) {
  MutexLock lock(&mutex_);
  std::vector<Decision> page;
  const auto entry = entries_.find(session_uid);
  if (entry == entries_.end()) return page;
  const Journal& journal = entry->second.journal;
  for (auto it = std::make_reverse_iterator(journal.lower_bound(before_step));
       it != journal.rend() && std::ssize(page) < limit; ++it) {
    if (matches(it->second)) page.push_back(it->second);
  }
  return page;
}

absl::StatusOr<std::vector<Decision>> MemoryStore::ListDecisions(
    std::string_view session_uid, std::int64_t before_step, int limit) {
  return Page(session_uid, before_step, limit,
              [](const Decision&) { return true; });
}

absl::StatusOr<std::vector<Decision>> MemoryStore::ListDecisionsByIteration(
    std::string_view session_uid, std::int64_t iteration,
    std::int64_t before_step, int limit) {
  return Page(session_uid, before_step, limit, [&](const Decision& decision) {
    return NamesIteration(decision, iteration);
  });
}

absl::StatusOr<std::vector<Decision>> MemoryStore::ReadDecisions(
    std::string_view session_uid, std::int64_t from_step, int limit) {
  MutexLock lock(&mutex_);
  std::vector<Decision> page;
  const auto entry = entries_.find(session_uid);
  if (entry == entries_.end()) return page;
  const Journal& journal = entry->second.journal;
  for (auto it = journal.lower_bound(from_step);
       it != journal.end() && std::ssize(page) < limit; ++it) {
    page.push_back(it->second);
  }
  return page;
}

absl::StatusOr<std::optional<Deletion>> MemoryStore::FindDeletion(
    std::string_view request_id) {
  MutexLock lock(&mutex_);
  const auto deletion = deletions_.find(request_id);
  if (deletion == deletions_.end()) return std::nullopt;
  return deletion->second;
}

}  // namespace lossscaler::server
