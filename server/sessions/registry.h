// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Registry: the sessions of a server, by name.
//
// Loads them from the store at start, creates and deletes them, and finds them
// for the calls. Everything that changes a session goes through the store
// first; callbacks run when the store has answered, on the store's thread or
// on the calling one.
//
// Thread safety: any thread, at any time.

#ifndef LOSSSCALER_SERVER_SESSIONS_REGISTRY_H_
#define LOSSSCALER_SERVER_SESSIONS_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/loss_scaler.h"
#include "lossscaler/sync/mutex.h"
#include "sessions/alarm.h"
#include "sessions/boot_clock.h"
#include "sessions/limits.h"
#include "sessions/participants.h"
#include "sessions/random_token.h"
#include "sessions/session.h"
#include "store/store.h"

namespace lossscaler::server {

class Registry {
 public:
  // What the registry takes from the machine. Tests inject their own.
  struct World {
    // Wall clock time, for records.
    std::function<absl::Time()> now = absl::Now;
    // Monotonic time, for leases and timers.
    std::function<absl::Time()> monotonic = BootTime;
    // Names that nobody can guess.
    std::function<std::string()> new_token = RandomToken;
    // Who hears of what happens; they outlive the store's last answer.
    std::vector<SessionObserver*> observers = {};
    // Whether a thread of the registry rings the alarm; otherwise only
    // RingDue() does.
    bool alarm_thread = true;
  };

  // `store` outlives every call; the registry outlives every write of the
  // store, whose callbacks come back to it.
  Registry(Store* store, const Limits& limits)
      : Registry(store, limits, World()) {}
  Registry(Store* store, const Limits& limits, World world);

  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Takes over what the store holds. Call once, before anything else.
  absl::Status Load() ABSL_LOCKS_EXCLUDED(mutex_);

  struct CreateRequest {
    std::string name;
    LossScaler config;
    bool return_if_equal = false;
    std::string request_id;
    // Set: a group session.
    std::optional<GroupConfig> group;
  };
  struct Created {
    std::shared_ptr<Session> session;
    SessionSnapshot snapshot;
    bool created = false;
  };
  // INVALID_SESSION_NAME, INVALID_FIELD, INVALID_GROUP, SESSION_EXISTS,
  // CONFIG_MISMATCH, TOO_MANY_SESSIONS, STORE_UNAVAILABLE.
  void Create(CreateRequest request,
              std::function<void(absl::StatusOr<Created>)> done)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Deletes the session and its journal. SESSION_NOT_FOUND unless the same
  // request_id deleted it before.
  void Delete(std::string_view name, std::string_view uid,
              std::string_view request_id,
              std::function<void(absl::Status)> done)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // INVALID_SESSION_NAME, SESSION_NOT_FOUND, or SESSION_REPLACED if `uid` is
  // not empty and not the session's. STORE_UNAVAILABLE while nobody knows.
  absl::StatusOr<std::shared_ptr<Session>> Find(std::string_view name,
                                                std::string_view uid)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // At most `limit` sessions whose name starts with `prefix` and comes after
  // `after`, ascending by name. Some may have no Snapshot().
  std::vector<std::shared_ptr<Session>> List(std::string_view prefix,
                                             std::string_view after,
                                             int limit) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  std::int64_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Who speaks for the workers of all groups.
  Participants* participants() { return &participants_; }

  // The server ends: see Session::Drain() and Participants::Drain(). Once no
  // call that could create a session comes in any more, and before the store
  // ends: from now on nothing happens in a session but by a call.
  void Drain(const absl::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);

  // Wakes the sessions whose time has come, on the calling thread.
  void RingDue() { alarm_.RingDue(); }

 private:
  using Sessions = std::map<std::string, std::shared_ptr<Session>, std::less<>>;

  // Answers a Create() that found a session under the name.
  void AnswerExisting(const CreateRequest& request,
                      const std::shared_ptr<Session>& session,
                      const std::function<void(absl::StatusOr<Created>)>& done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // OK if `request_id` deleted this session before.
  absl::Status CheckDeleted(std::string_view name, std::string_view uid,
                            std::string_view request_id) const;
  // Settles the creations whose outcome was unknown, so that those which were
  // lost take no place although nobody names them again.
  void ForgetUnsure() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes a session that is gone out of the map.
  void Forget(const std::shared_ptr<Session>& session)
      ABSL_LOCKS_EXCLUDED(mutex_);

  Store* const store_;
  const Limits limits_;
  ByteBudget ledger_budget_;
  const bool alarm_thread_;
  const Session::Environment environment_;

  mutable Mutex mutex_;
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
  // Of sessions_: the outcome of their creation was unknown.
  std::vector<std::shared_ptr<Session>> unsure_ ABSL_GUARDED_BY(mutex_);

  Participants participants_;

  // Last: its thread calls sessions.
  Alarm alarm_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_SESSIONS_REGISTRY_H_
