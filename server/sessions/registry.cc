// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "sessions/registry.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/names.h"
#include "lossscaler/core/solo.h"

namespace lossscaler::server {
namespace {

// What finished streams may be remembered by, in all sessions together.
constexpr std::int64_t kLedgerBytes = std::int64_t{64} << 20;

std::string Text(const LossScaler& scaler,
                 const std::optional<GroupConfig>& group) {
  if (!group) return scaler.DebugString();
  return absl::StrCat(
      scaler.DebugString(), " for a group of ", group->min_workers, " to ",
      group->max_workers, " workers (lease_ttl ",
      absl::FormatDuration(group->lease_ttl), ", step_timeout ",
      absl::FormatDuration(group->step_timeout), ", on_loss ",
      std::string(LossPolicyName(group->on_loss)), ", on_timeout ",
      std::string(StragglerPolicyName(group->on_timeout)), ", max_timeouts ",
      group->max_timeouts, ", early_decision ",
      group->early_decision ? "true" : "false", ", parts ",
      std::string(PartPolicyName(group->parts)), ", degraded_skips ",
      group->degraded_skips, ")");
}

}  // namespace

Registry::Registry(Store* store, const Limits& limits, World world)
    : store_(store),
      limits_(limits),
      ledger_budget_(kLedgerBytes),
      alarm_thread_(world.alarm_thread),
      environment_{.store = store,
                   .ledger_budget = &ledger_budget_,
                   .now = std::move(world.now),
                   .retry_delay = limits.retry_delay,
                   .alarm = &alarm_,
                   .monotonic = std::move(world.monotonic),
                   .new_token = std::move(world.new_token),
                   .observers = std::move(world.observers)},
      participants_(limits),
      alarm_(environment_.monotonic) {}

absl::Status Registry::Load() {
  absl::StatusOr<std::vector<StoredSession>> stored = store_->LoadAll();
  if (!stored.ok()) return stored.status();
  std::vector<std::shared_ptr<Session>> groups;
  {
    MutexLock lock(&mutex_);
    for (StoredSession& one : *stored) {
      const SessionChange loaded{.cause = Cause::kLoad, .after = &one.state};
      for (SessionObserver* const observer : environment_.observers) {
        observer->OnChange(loaded);
      }
      std::string name = one.state.name;
      const bool group = one.state.group.has_value();
      const auto session =
          std::make_shared<Session>(std::move(one), &environment_);
      if (group) groups.push_back(session);
      sessions_.emplace(std::move(name), session);
    }
  }
  // Each sets its alarm.
  for (const std::shared_ptr<Session>& group : groups) group->OnAlarm();
  if (alarm_thread_) alarm_.Start();
  return absl::OkStatus();
}

void Registry::Drain(const absl::Status& error) {
  alarm_.Stop();
  Sessions sessions;
  {
    MutexLock lock(&mutex_);
    sessions = sessions_;
  }
  for (const auto& [name, session] : sessions) session->Drain(error);
  participants_.Drain(error);
}

void Registry::Create(CreateRequest request,
                      std::function<void(absl::StatusOr<Created>)> done) {
  absl::Status valid = ValidateSessionName(request.name);
  valid.Update(ValidateRequestId(request.request_id));
  if (request.group) valid.Update(ValidateGroupConfig(*request.group));
  if (!valid.ok()) return done(valid);

  ForgetUnsure();
  std::shared_ptr<Session> session;
  bool exists = false;
  {
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(request.name);
    exists = found != sessions_.end();
    if (exists) {
      session = found->second;
    } else if (static_cast<std::int64_t>(sessions_.size()) <
               limits_.max_sessions) {
      session = std::make_shared<Session>(request.name, &environment_);
      sessions_.emplace(request.name, session);
    }
  }
  if (session == nullptr) {
    return done(MakeError(
        Reason::kTooManySessions,
        absl::StrCat("the server holds ", limits_.max_sessions,
                     " sessions, which is its limit; delete some, or raise "
                     "max_sessions"),
        {{"sessions", absl::StrCat(limits_.max_sessions)},
         {"limit", absl::StrCat(limits_.max_sessions)}}));
  }
  if (exists) return AnswerExisting(request, session, done);

  SessionState initial = NewSession(request.name, RandomToken(), request.config,
                                    request.request_id, environment_.now());
  if (request.group) initial.group = GroupState{.config = *request.group};
  session->Create(initial, [this, session,
                            done](absl::StatusOr<SessionSnapshot> snapshot) {
    if (!snapshot.ok()) {
      if (!session->gone()) {
        MutexLock lock(&mutex_);
        unsure_.push_back(session);
      }
      Forget(session);
      return done(snapshot.status());
    }
    done(Created{
        .session = session, .snapshot = *std::move(snapshot), .created = true});
  });
}

void Registry::AnswerExisting(
    const CreateRequest& request, const std::shared_ptr<Session>& session,
    const std::function<void(absl::StatusOr<Created>)>& done) {
  session->Look([this, request, session,
                 done](absl::StatusOr<SessionSnapshot> snapshot) {
    if (ReasonOf(snapshot.status()) == Reason::kSessionNotFound) {
      // It was deleted, or could not be created, while this call waited.
      Forget(session);
      return Create(request, done);
    }
    if (!snapshot.ok()) return done(snapshot.status());
    const SessionState& state = snapshot->state;
    std::optional<GroupConfig> group;
    if (state.group) group = state.group->config;
    const bool equal = state.config == request.config && group == request.group;
    const bool repeated = equal && !request.request_id.empty() &&
                          request.request_id == state.create_request_id;
    if (repeated || (request.return_if_equal && equal)) {
      return done(Created{.session = session,
                          .snapshot = *std::move(snapshot),
                          .created = repeated});
    }
    if (request.return_if_equal) {
      return done(
          MakeError(Reason::kConfigMismatch,
                    absl::StrCat("session '", request.name,
                                 "' exists with the "
                                 "configuration ",
                                 Text(state.config, group), ", not ",
                                 Text(request.config, request.group),
                                 "; use its configuration or another name"),
                    {{"session", request.name},
                     {"configuration", Text(state.config, group)},
                     {"requested", Text(request.config, request.group)}}));
    }
    done(MakeError(
        Reason::kSessionExists,
        absl::StrCat("session '", request.name,
                     "' exists; use it "
                     "(RETURN_IF_EQUAL), delete it, or choose another name"),
        {{"session", request.name}}));
  });
}

void Registry::Delete(std::string_view name, std::string_view uid,
                      std::string_view request_id,
                      std::function<void(absl::Status)> done) {
  absl::Status valid = ValidateSessionName(name);
  valid.Update(ValidateRequestId(request_id));
  if (!valid.ok()) return done(valid);

  // The request id decides: by now the name may be another session's. It is
  // looked up after the session, so that one which was created after the first
  // copy of this call had deleted the name is never deleted by the second.
  const absl::StatusOr<std::shared_ptr<Session>> session = Find(name, uid);
  const absl::Status before = CheckDeleted(name, uid, request_id);
  if (ReasonOf(before) != Reason::kSessionNotFound) return done(before);
  if (!session.ok()) return done(session.status());
  (*session)->Delete(
      request_id,
      [this, name = std::string(name), uid = std::string(uid),
       request_id = std::string(request_id), session = *session,
       done = std::move(done)](const absl::StatusOr<SessionSnapshot>& deleted) {
        Forget(session);
        if (ReasonOf(deleted.status()) == Reason::kSessionNotFound) {
          // Another copy of this call was faster, or another call was.
          return done(CheckDeleted(name, uid, request_id));
        }
        done(deleted.status());
      });
}

absl::Status Registry::CheckDeleted(std::string_view name, std::string_view uid,
                                    std::string_view request_id) const {
  if (request_id.empty()) return SessionNotFound(name);
  const absl::StatusOr<std::optional<Deletion>> deletion =
      store_->FindDeletion(request_id);
  if (!deletion.ok()) {
    return MakeRetryableError(
        Reason::kStoreUnavailable,
        absl::StrCat("the deletions could not be read: ",
                     std::string(deletion.status().message()),
                     "; nothing was deleted, call again"),
        limits_.retry_delay,
        {{"cause", std::string(deletion.status().message())}});
  }
  const bool same = *deletion && (*deletion)->session == name &&
                    (uid.empty() || (*deletion)->session_uid == uid);
  return same ? absl::OkStatus() : SessionNotFound(name);
}

absl::StatusOr<std::shared_ptr<Session>> Registry::Find(std::string_view name,
                                                        std::string_view uid) {
  if (absl::Status status = ValidateSessionName(name); !status.ok()) {
    return status;
  }
  std::shared_ptr<Session> session;
  {
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(name);
    if (found != sessions_.end()) session = found->second;
  }
  if (session == nullptr) return SessionNotFound(name);
  if (absl::Status status = session->Reread(); !status.ok()) return status;
  const std::optional<std::string> current = session->uid();
  if (!current) {
    Forget(session);
    return SessionNotFound(name);
  }
  if (!uid.empty() && uid != *current) {
    return MakeError(
        Reason::kSessionReplaced,
        absl::StrCat("session '", std::string(name), "' now has uid ", *current,
                     ", not ", Quoted(uid),
                     ": it was deleted and created again; open it anew"),
        {{"session", std::string(name)},
         {"session_uid", *current},
         {"requested_uid", Quoted(uid)}});
  }
  return session;
}

std::vector<std::shared_ptr<Session>> Registry::List(std::string_view prefix,
                                                     std::string_view after,
                                                     int limit) const {
  std::vector<std::shared_ptr<Session>> page;
  MutexLock lock(&mutex_);
  auto it = after < prefix ? sessions_.lower_bound(prefix)
                           : sessions_.upper_bound(after);
  for (; it != sessions_.end() && static_cast<int>(page.size()) < limit; ++it) {
    if (!it->first.starts_with(prefix)) break;
    page.push_back(it->second);
  }
  return page;
}

std::int64_t Registry::size() const {
  MutexLock lock(&mutex_);
  return static_cast<std::int64_t>(sessions_.size());
}

void Registry::ForgetUnsure() {
  std::vector<std::shared_ptr<Session>> unsure;
  {
    MutexLock lock(&mutex_);
    unsure.swap(unsure_);
  }
  absl::Status store;
  std::vector<std::shared_ptr<Session>> left;
  for (const std::shared_ptr<Session>& session : unsure) {
    // A store that does not answer is asked once.
    if (store.ok()) store = session->Reread();
    if (!session->gone() && !session->uid()) left.push_back(session);
    Forget(session);
  }
  if (left.empty()) return;
  MutexLock lock(&mutex_);
  unsure_.insert(unsure_.end(), left.begin(), left.end());
}

void Registry::Forget(const std::shared_ptr<Session>& session) {
  if (!session->gone()) return;
  MutexLock lock(&mutex_);
  const auto found = sessions_.find(session->name());
  if (found != sessions_.end() && found->second == session) {
    sessions_.erase(found);
  }
}

}  // namespace lossscaler::server
