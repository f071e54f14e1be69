// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Store: what must outlive the server.
//
// A store holds the state of every session, the journal of decisions of each,
// and the requests of deleted sessions. It knows nothing of the rules: it
// writes values in transactions that either are there wholly or not at all.
//
// Persist first, then answer: a caller shows nobody what it is writing before
// `done` has said kDone.
//
// Thread safety: every method may be called from any thread.

#ifndef LOSSSCALER_SERVER_STORE_STORE_H_
#define LOSSSCALER_SERVER_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lossscaler/core/decision.h"

namespace lossscaler::server {

// A session as loaded at start.
struct StoredSession {
  SessionState state;
  // The latest decisions, oldest first, at most kDecisionsInMemory.
  std::vector<Decision> recent;
  // Not 0: decisions that somebody saw may be missing, since the machine went
  // down while writes were not on disk for sure (relaxed durability). The
  // number of the server's start that found it so: a later loss has a higher
  // one. Stays until a RESTORED decision of the session is written.
  std::int64_t loss = 0;
};

inline constexpr int kDecisionsInMemory = 64;

// A request that deleted a session, kept so that its repetition succeeds.
struct Deletion {
  std::string request_id;
  std::string session;
  std::string session_uid;
  absl::Time time = absl::UnixEpoch();

  friend bool operator==(const Deletion&, const Deletion&) = default;
};

// One transaction: a session's new state and, if it made one, the decision; or
// the end of the session.
struct Write {
  // state.revision must be the stored revision + 1 (1: the session is new).
  // With `deletion` set only state.name, uid and revision matter.
  SessionState state;
  std::optional<Decision> decision;
  // Remove the session and its journal. An empty request_id is not kept.
  std::optional<Deletion> deletion;
};

// What became of a write.
enum class WriteResult {
  // It is there, and survives what durability() says.
  kDone,
  // It is not there and never will be.
  kNotDone,
  // Nobody knows: call Reload() before anything else.
  kUnknown,
};

class Store {
 public:
  // Called once, on any thread, possibly before Commit() returns; must not
  // block and must not call Commit() of the same session synchronously more
  // than once. `status` explains anything but kDone.
  using Done = std::function<void(WriteResult result, absl::Status status)>;

  virtual ~Store() = default;

  // "memory" or "sqlite".
  virtual std::string_view name() const = 0;
  // "none", "full" (a write survives a kill and a power loss) or "relaxed" (a
  // kill).
  virtual std::string_view durability() const = 0;
  // How often this state was opened, this time included.
  virtual std::int64_t start_count() const = 0;

  // Every session, in the order of names. Called once, at start.
  virtual absl::StatusOr<std::vector<StoredSession>> LoadAll() = 0;

  // Writes in the order of the calls of one session.
  virtual void Commit(Write write, Done done) = 0;

  // A session as stored now; nullopt: there is none with this uid.
  virtual absl::StatusOr<std::optional<StoredSession>> Reload(
      std::string_view session_uid) = 0;

  // A decision of the journal, by step or by the request_id of its vote or
  // restore; nullopt: not there.
  virtual absl::StatusOr<std::optional<Decision>> FindDecision(
      std::string_view session_uid, std::int64_t step) = 0;
  virtual absl::StatusOr<std::optional<Decision>> FindDecisionByRequest(
      std::string_view session_uid, std::string_view request_id) = 0;

  // Pages of the journal. `limit` > 0; fewer decisions than that are the last.
  //
  // Newest first, of the steps below `before_step`; the second only those in
  // which a vote named `iteration`.
  virtual absl::StatusOr<std::vector<Decision>> ListDecisions(
      std::string_view session_uid, std::int64_t before_step, int limit) = 0;
  virtual absl::StatusOr<std::vector<Decision>> ListDecisionsByIteration(
      std::string_view session_uid, std::int64_t iteration,
      std::int64_t before_step, int limit) = 0;
  // Oldest first, from `from_step` on or from the first later one that is kept.
  virtual absl::StatusOr<std::vector<Decision>> ReadDecisions(
      std::string_view session_uid, std::int64_t from_step, int limit) = 0;

  // A deletion by its request id; about the latest 10,000 are kept.
  virtual absl::StatusOr<std::optional<Deletion>> FindDeletion(
      std::string_view request_id) = 0;

  // OK while the last write succeeded or a later probe did. Health asks.
  virtual absl::Status Health() = 0;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_STORE_STORE_H_
