// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/printing.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lossscaler/core/loss_scaler_json.h"
#include "lossscaler/core/number_text.h"
#include "nlohmann/json.hpp"

namespace lossscaler::ctl {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

// Columns as wide as their widest cell, two spaces apart.
std::string Table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

Json ScalerJson(const LossScaler& scaler) {
  return Json::parse(ToJson(scaler), nullptr, /*allow_exceptions=*/false);
}

Json DecisionJson(const Decision& decision) {
  return {{"step", decision.step},
          {"outcome", std::string(OutcomeName(decision.outcome))},
          {"reason", std::string(DecisionReasonName(decision.reason))},
          {"explanation", decision.explanation},
          {"scale_before", decision.scale_before},
          {"scale_after", decision.scale_after},
          {"saturated", decision.saturated},
          {"floored", decision.floored},
          {"stalled", decision.stalled},
          {"decide_time", TimeText(decision.decide_time)}};
}

Json ToJsonValue(const SessionInfo& session) {
  Json json = {{"name", session.name},
               {"uid", session.uid},
               {"config", ScalerJson(session.config)},
               {"scaler", ScalerJson(session.scaler)},
               {"current",
                {{"step", session.current.step},
                 {"scale", session.current.scale},
                 {"base", session.current.base},
                 {"epoch", session.current.epoch}}},
               {"attempted", session.attempted},
               {"applied", session.applied},
               {"skipped", session.skipped},
               {"consecutive_skips", session.consecutive_skips},
               {"create_time", TimeText(session.create_time)}};
  if (session.last_decision) {
    json["last_decision"] = DecisionJson(*session.last_decision);
  }
  return json;
}

// Whatever a server sends is printed; bytes that are not UTF-8 are replaced.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
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

std::string HealthJson(const std::string& state) {
  return Dump({{"status", state}});
}

}  // namespace lossscaler::ctl
