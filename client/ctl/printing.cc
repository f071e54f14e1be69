// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/printing.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "ctl/group_printing.h"
#include "ctl/json_values.h"
#include "ctl/table.h"
#include "ctl/value_text.h"
#include "lossscaler/core/number_text.h"

namespace lossscaler::ctl {
namespace {

// The shortest decimal that reads back as the same float32.
std::string FloatText(float value) {
  char text[32];  // Longer than any shortest float32.
  const std::to_chars_result written =
      std::to_chars(text, text + sizeof(text), value);
  return std::string(text, written.ptr);
}

bool Contains(const std::vector<int>& indices, std::size_t index) {
  return std::find(indices.begin(), indices.end(), static_cast<int>(index)) !=
         indices.end();
}

// The limits by name, in the order of the proto.
std::vector<std::pair<std::string, std::int64_t>> LimitsOf(
    const ServerInfo& server) {
  const ServerLimits& limits = server.limits;
  return {
      {"max_sessions", limits.max_sessions},
      {"max_unscale_streams", limits.max_unscale_streams},
      {"max_bytes_in_flight", limits.max_bytes_in_flight},
      {"max_tensors_per_stream", limits.max_tensors_per_stream},
      {"max_chunk_bytes", limits.max_chunk_bytes},
      {"max_losses_per_call", limits.max_losses_per_call},
      {"replayable_decisions", limits.replayable_decisions},
      {"unscale_idle_millis", absl::ToInt64Milliseconds(limits.unscale_idle)},
      {"max_workers_per_session", limits.max_workers_per_session},
      {"max_watch_streams", limits.max_watch_streams},
      {"max_open_calls", limits.max_open_calls},
      {"max_parts_per_vote", limits.max_parts_per_vote}};
}

void Append(const std::vector<Row>& more, std::vector<Row>* rows) {
  rows->insert(rows->end(), more.begin(), more.end());
}

Json ToJsonValue(const SessionInfo& session) {
  Json json = {{"name", session.name},
               {"uid", session.uid},
               {"config", ScalerJson(session.config)},
               {"scaler", ScalerJson(session.scaler)},
               {"current", CurrentJson(session.current)},
               {"attempted", session.attempted},
               {"applied", session.applied},
               {"skipped", session.skipped},
               {"consecutive_skips", session.consecutive_skips},
               {"create_time", TimeText(session.create_time)}};
  if (session.group) {
    Json workers = Json::array();
    for (const MemberView& view : session.workers) {
      workers.push_back(WorkerJson(view));
    }
    json["group"] = GroupJson(*session.group);
    json["phase"] = GroupPhaseName(session.phase);
    json["attempt"] = session.attempt;
    if (!workers.empty()) json["workers"] = workers;
  }
  if (session.degraded) json["degraded"] = DegradedJson(*session.degraded);
  if (session.last_decision) {
    json["last_decision"] = DecisionJson(*session.last_decision);
  }
  return json;
}

}  // namespace

std::string SessionText(const SessionInfo& session) {
  std::vector<Row> rows = {
      {"name:", session.name},
      {"uid:", session.uid},
      {"scaler:", session.scaler.DebugString()},
      {"scale:", NumberText(session.current.scale)},
      {"step:", absl::StrCat(session.current.step)},
      {"base:", absl::StrCat(session.current.base)},
      {"epoch:", absl::StrCat(session.current.epoch)},
      {"attempted:", absl::StrCat(session.attempted)},
      {"applied:", absl::StrCat(session.applied)},
      {"skipped:", absl::StrCat(session.skipped, " (",
                                session.consecutive_skips, " in a row now)")},
      {"created:", TimeText(session.create_time)},
  };
  if (session.group) {
    Append(StandingRows(session), &rows);
    Append(GroupRows(*session.group), &rows);
  }
  Append(DegradedRows(session), &rows);
  if (session.last_decision) {
    const Decision& last = *session.last_decision;
    rows.push_back(
        {"last decision:",
         absl::StrCat("step ", last.step, " ",
                      std::string(OutcomeName(last.outcome)), " at ",
                      TimeText(last.decide_time), ": ", last.explanation)});
  }
  return Table(rows);
}

std::string SessionsText(const std::vector<SessionInfo>& sessions) {
  std::vector<Row> rows = {
      {"NAME", "KIND", "SCALE", "STEP", "APPLIED", "SKIPPED", "EPOCH"}};
  for (const SessionInfo& session : sessions) {
    rows.push_back(
        {session.name, std::string(session.scaler.kind()),
         NumberText(session.current.scale), absl::StrCat(session.current.step),
         absl::StrCat(session.applied), absl::StrCat(session.skipped),
         absl::StrCat(session.current.epoch)});
  }
  return Table(rows);
}

std::string ScaledText(const ScaledLossList& list) {
  std::vector<Row> rows = {{"LOSS", "SCALED", "NOTE"}};
  for (std::size_t i = 0; i < list.losses.size(); ++i) {
    std::string note;
    if (Contains(list.answer.non_finite_losses, i)) {
      note = "not finite";
    } else if (Contains(list.answer.overflowing_losses, i)) {
      note = absl::StrCat("overflows ",
                          std::string(ElementTypeName(list.loss_type)));
    }
    rows.push_back({FloatText(list.losses[i]),
                    FloatText(list.answer.scaled_losses[i]), std::move(note)});
  }
  return absl::StrCat("step ", list.answer.step, ", scale ",
                      NumberText(list.answer.scale), "\n", Table(rows));
}

std::string ServerText(const ServerInfo& server) {
  std::vector<Row> rows = {
      {"version:", server.version},
      {"store:", server.store},
      {"durability:", server.durability},
      {"starts:", absl::StrCat(server.start_count)},
      {"sessions:", absl::StrCat(server.sessions)},
      {"features:",
       server.features.empty() ? "none" : absl::StrJoin(server.features, ", ")},
  };
  for (const auto& [name, limit] : LimitsOf(server)) {
    rows.push_back({absl::StrCat(name, ":"), absl::StrCat(limit)});
  }
  return Table(rows);
}

std::string SessionJson(const SessionInfo& session) {
  return Dump(ToJsonValue(session));
}

std::string SessionsJson(const std::vector<SessionInfo>& sessions) {
  Json json = Json::array();
  for (const SessionInfo& session : sessions) {
    json.push_back(ToJsonValue(session));
  }
  return Dump(json);
}

std::string CreatedJson(const std::string& name, const std::string& uid) {
  return Dump({{"name", name}, {"uid", uid}});
}

std::string DeletedJson(const std::string& name) {
  return Dump({{"deleted", name}});
}

std::string ScaledJson(const ScaledLossList& list) {
  Json losses = Json::array();
  for (std::size_t i = 0; i < list.losses.size(); ++i) {
    losses.push_back(
        {{"loss", NumberJson(list.losses[i])},
         {"scaled", NumberJson(list.answer.scaled_losses[i])},
         {"finite", !Contains(list.answer.non_finite_losses, i)},
         {"overflows", Contains(list.answer.overflowing_losses, i)}});
  }
  return Dump({{"step", list.answer.step},
               {"epoch", list.answer.epoch},
               {"scale", list.answer.scale},
               {"loss_type", std::string(ElementTypeName(list.loss_type))},
               {"losses", losses}});
}

std::string ServerJson(const ServerInfo& server) {
  Json limits = Json::object();
  for (const auto& [name, limit] : LimitsOf(server)) limits[name] = limit;
  return Dump({{"version", server.version},
               {"store", server.store},
               {"durability", server.durability},
               {"start_count", server.start_count},
               {"sessions", server.sessions},
               {"features", server.features},
               {"limits", limits}});
}

std::string HealthJson(const std::string& state) {
  return Dump({{"status", state}});
}

}  // namespace lossscaler::ctl
