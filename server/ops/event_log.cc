// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/event_log.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "lossscaler/core/decision.h"
#include "lossscaler/core/degraded.h"
#include "lossscaler/core/error.h"
#include "lossscaler/core/group.h"
#include "lossscaler/core/group_draft.h"
#include "lossscaler/core/names.h"
#include "ops/limited_log.h"

namespace lossscaler::server {
namespace {

// A message quotes what it found wrong, cut; this is for what it may become.
constexpr std::size_t kMaxErrorBytes = 1000;
constexpr std::size_t kMaxCallIdBytes = 128;

// The fields of one line, in their order, without those that are absent.
class Line {
 public:
  template <typename T>
  Line& Add(std::string_view name, const T& value) {
    fields_.emplace_back(name, value);
    return *this;
  }

  Line& AddText(std::string_view name, std::string_view text) {
    return text.empty() ? *this : Add(name, text);
  }

  // Text from outside: as much of it as is allowed to exist.
  Line& AddCut(std::string_view name, std::string_view text, std::size_t max) {
    return AddText(name, text.substr(0, max));
  }

  Line& AddIf(bool flag, std::string_view name) {
    return flag ? Add(name, true) : *this;
  }

  void Write(LogLevel level, std::string_view event) const {
    LimitedLog(level, event,
               LogFields(std::span(fields_.data(), fields_.size())));
  }

 private:
  absl::InlinedVector<LogField, 16> fields_;
};

// The first of some workers, and how many more there are.
class Workers {
 public:
  Workers(std::string_view name, std::string_view more,
          std::vector<std::string> workers)
      : name_(name), more_name_(more), shown_(std::move(workers)) {
    if (shown_.size() <= EventLog::kWorkersShown) return;
    more_ = shown_.size() - EventLog::kWorkersShown;
    shown_.resize(EventLog::kWorkersShown);
  }

  void AddTo(Line* line) const {
    if (shown_.empty()) return;
    line->Add(name_, std::span<const std::string>(shown_));
    if (more_ > 0) line->Add(more_name_, more_);
  }

 private:
  std::string_view name_;
  std::string_view more_name_;
  std::vector<std::string> shown_;
  std::size_t more_ = 0;
};

std::vector<std::string> WhoOverflowed(const Decision& decision) {
  std::vector<std::string> workers;
  for (const Vote& vote : decision.votes) {
    // The voter of a solo session has no name.
    if (vote.resolved == Verdict::kOverflow && !vote.worker.empty()) {
      workers.push_back(vote.worker);
    }
  }
  return workers;
}

void LogDecision(const SessionState& state, const Decision& decision) {
  const bool routine = decision.outcome == Outcome::kApply && !decision.floored;
  if (!LogEnabled(routine ? LogLevel::kDebug : LogLevel::kWarning)) return;
  std::optional<Degraded> degraded;
  if (!routine) degraded = DegradedBy(state, &decision);
  LogLevel level = routine ? LogLevel::kDebug : LogLevel::kInfo;
  if (degraded || decision.floored) level = LogLevel::kWarning;
  if (!LogEnabled(level)) return;

  const Workers overflow("overflow", "overflow_more", WhoOverflowed(decision));
  const Workers lost("lost", "lost_more", decision.lost);
  const Workers evicted("evicted", "evicted_more", decision.evicted);
  Line line;
  line.Add("session", state.name)
      .Add("step", decision.step)
      .Add("epoch", decision.epoch_after)
      .Add("outcome", OutcomeName(decision.outcome))
      .Add("reason", DecisionReasonName(decision.reason))
      .Add("scale_before", decision.scale_before)
      .Add("scale_after", decision.scale_after);
  overflow.AddTo(&line);
  lost.AddTo(&line);
  evicted.AddTo(&line);
  line.AddIf(decision.floored, "floored")
      .AddIf(decision.saturated, "saturated")
      .AddIf(decision.stalled, "stalled");
  if (degraded) line.Add("degraded", degraded->reason);
  line.AddText("explanation", decision.explanation);
  line.Write(level, "decision");
}

void LogRestored(const SessionState& state, const Decision& decision) {
  if (!LogEnabled(LogLevel::kInfo)) return;
  Line line;
  line.Add("session", state.name)
      .Add("step", decision.step)
      .Add("epoch", decision.epoch_after)
      .Add("scale_before", decision.scale_before)
      .Add("scale_after", decision.scale_after)
      .AddText("explanation", decision.explanation);
  line.Write(LogLevel::kInfo, "session_restored");
}

struct WorkerEvent {
  LogLevel level;
  std::string_view name;
  // Why it is lost.
  std::string_view reason;
};

WorkerEvent EventOf(WorkerChange::Kind kind) {
  switch (kind) {
    case WorkerChange::Kind::kJoined:
      return {LogLevel::kInfo, "worker_joined", ""};
    case WorkerChange::Kind::kActivated:
      return {LogLevel::kInfo, "worker_active", ""};
    case WorkerChange::Kind::kLeft:
      return {LogLevel::kInfo, "worker_left", ""};
    case WorkerChange::Kind::kExpired:
      return {LogLevel::kWarning, "worker_lost", "expired"};
    case WorkerChange::Kind::kReplaced:
      return {LogLevel::kWarning, "worker_lost", "replaced"};
    case WorkerChange::Kind::kEvicted:
      break;
  }
  return {LogLevel::kWarning, "worker_lost", "evicted"};
}

bool Comes(const WorkerChange& change) {
  return change.kind == WorkerChange::Kind::kJoined ||
         change.kind == WorkerChange::Kind::kActivated;
}

// `state` says whether one that joins votes at once; otherwise it is empty.
void LogWorker(const SessionState& session, const WorkerChange& change,
               std::string_view state) {
  const WorkerEvent event = EventOf(change.kind);
  if (!LogEnabled(event.level)) return;
  Line line;
  line.Add("session", session.name)
      .Add("step", session.step)
      .Add("epoch", session.epoch)
      .Add("worker", change.worker)
      .Add("incarnation", change.incarnation)
      .AddText("state", state)
      .AddText("reason", event.reason);
  line.Write(event.level, event.name);
}

void LogDepartures(const SessionChange& change) {
  for (const WorkerChange& worker : change.workers) {
    if (!Comes(worker)) LogWorker(*change.after, worker, "");
  }
}

// One line for a worker that joins and is active at once.
void LogArrivals(const SessionChange& change) {
  const WorkerChange* joined = nullptr;
  const auto finish = [&](std::string_view state) {
    if (joined != nullptr) LogWorker(*change.after, *joined, state);
    joined = nullptr;
  };
  for (const WorkerChange& worker : change.workers) {
    if (!Comes(worker)) continue;
    if (joined != nullptr && worker.incarnation == joined->incarnation) {
      finish("active");
      continue;
    }
    finish("pending");
    if (worker.kind == WorkerChange::Kind::kJoined) {
      joined = &worker;
    } else {
      LogWorker(*change.after, worker, "");
    }
  }
  finish("pending");
}

std::int64_t LiveWorkers(const GroupState& group) {
  return std::count_if(group.members.begin(), group.members.end(), IsLive);
}

// A group that opens, that stops taking votes, or that its workers' checkpoints
// keep from opening.
void LogPhase(const SessionState& before, const SessionState& after) {
  if (!before.group || !after.group) return;
  const GroupPhase was = PhaseOf(*before.group);
  const GroupPhase is = PhaseOf(*after.group);
  if (was == is) return;
  const bool opens = is == GroupPhase::kOpen;
  const bool differ = is == GroupPhase::kCheckpointMismatch;
  if (!opens && !differ && was != GroupPhase::kOpen) return;
  const LogLevel level = differ ? LogLevel::kWarning : LogLevel::kInfo;
  if (!LogEnabled(level)) return;
  Line line;
  line.Add("session", after.name)
      .Add("step", after.step)
      .Add("epoch", after.epoch);
  if (!opens) line.Add("reason", GroupPhaseName(is));
  line.Add("workers", LiveWorkers(*after.group))
      .Add("min_workers", after.group->config.min_workers);
  if (opens) {
    line.Write(level, "session_opened");
  } else {
    line.Write(level, "session_paused");
  }
}

void LogCreated(const SessionState& state) {
  if (!LogEnabled(LogLevel::kInfo)) return;
  Line line;
  line.Add("session", state.name)
      .Add("uid", state.uid)
      .Add("kind", state.group ? "group" : "solo")
      .Add("scale", state.scaler.scale());
  line.Write(LogLevel::kInfo, "session_created");
}

void LogDeleted(const SessionState& state) {
  if (!LogEnabled(LogLevel::kInfo)) return;
  Line line;
  line.Add("session", state.name).Add("uid", state.uid).Add("step", state.step);
  if (state.group) line.Add("workers", LiveWorkers(*state.group));
  line.Write(LogLevel::kInfo, "session_deleted");
}

// Votes and joins that cross a step, a restore or another join, and servers
// that drain: clients know what to do, and do it.
bool IsNormalLife(const absl::Status& status) {
  const std::optional<Reason> reason = ReasonOf(status);
  if (!reason) return absl::IsCancelled(status);
  switch (*reason) {
    case Reason::kStepAhead:
    case Reason::kStepForgotten:
    case Reason::kScaleMismatch:
    case Reason::kEpochMismatch:
    case Reason::kWorkerHeld:
    case Reason::kFenced:
    case Reason::kNotActive:
    case Reason::kSessionPaused:
    case Reason::kDraining:
      return true;
    default:
      return false;
  }
}

// Who ended or reset a session is of interest when all has gone well, too.
LogLevel LevelOfSuccess(Method method) {
  return method == Method::kDeleteSession || method == Method::kRestoreSession
             ? LogLevel::kInfo
             : LogLevel::kDebug;
}

// Seconds, to the microsecond.
double Seconds(absl::Duration duration) {
  return std::round(absl::ToDoubleSeconds(duration) * 1e6) / 1e6;
}

}  // namespace

LogLevel LevelOfFailure(const absl::Status& status) {
  if (IsNormalLife(status)) return LogLevel::kDebug;
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return LogLevel::kWarning;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnknown:
      return LogLevel::kError;
    default:
      return LogLevel::kInfo;
  }
}

void EventLog::OnCallEnd(const CallRecord& call) {
  const absl::Status& status = call.status();
  const LogLevel level =
      status.ok() ? LevelOfSuccess(call.method()) : LevelOfFailure(status);
  if (!LogEnabled(level)) return;
  const std::string code = absl::StatusCodeToString(status.code());
  const std::string reason = ReasonNameOf(status);
  const std::string peer = call.peer();
  const std::string call_id = call.call_id();
  Line line;
  line.Add("method", MethodName(call.method()))
      .Add("code", code)
      .AddText("reason", reason)
      .AddCut("session", call.session(), kMaxSessionNameBytes)
      .AddCut("worker", call.worker(), kMaxIdBytes);
  if (call.step()) line.Add("step", *call.step());
  if (call.caller() != nullptr) line.Add("caller", call.caller()->name);
  line.AddText("peer", peer)
      .AddCut("call_id", call_id, kMaxCallIdBytes)
      .Add("took", Seconds(call.took()));
  const std::string_view message(status.message().data(),
                                 status.message().size());
  line.AddCut("error", message, kMaxErrorBytes);
  if (status.ok()) {
    line.Write(level, "call");
  } else {
    line.Write(level, "call_failed");
  }
}

void EventLog::OnChange(const SessionChange& change) {
  if (change.cause == Cause::kLoad) return;
  if (change.after == nullptr) {
    if (change.before != nullptr) LogDeleted(*change.before);
    return;
  }
  if (change.before == nullptr) LogCreated(*change.after);
  // In the order of what led to what.
  LogDepartures(change);
  if (change.decision != nullptr) {
    if (change.decision->reason == DecisionReason::kRestored) {
      LogRestored(*change.after, *change.decision);
    } else {
      LogDecision(*change.after, *change.decision);
    }
  }
  LogArrivals(change);
  if (change.before != nullptr) LogPhase(*change.before, *change.after);
}

}  // namespace lossscaler::server
