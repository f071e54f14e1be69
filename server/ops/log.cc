// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/log.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "spdlog/logger.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_sinks.h"

namespace lossscaler::server {
namespace {

using Json = nlohmann::ordered_json;

// spdlog filters, locks and writes; the line is ours.
struct Output {
  std::atomic<LogFormat> format{LogFormat::kText};
  spdlog::logger logger{"lossscalerd",
                        std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  Output() {
    logger.set_pattern("%v");
    logger.set_level(spdlog::level::info);
  }
};

// Never destroyed: gRPC's threads may log until the very end.
Output& TheOutput() {
  static Output* const output = new Output;
  return *output;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string Dump(const Json& json) {
  return json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

Json ToJson(const LogField& field) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::same_as<Value, std::string_view>) {
          return std::string(value);
        } else if constexpr (std::same_as<Value,
                                          std::span<const std::string>>) {
          return std::vector<std::string>(value.begin(), value.end());
        } else {
          return value;
        }
      },
      field.value);
}

// As it is if a reader and a splitter at spaces see where it ends; otherwise
// quoted as in JSON.
std::string TextOrQuoted(std::string_view text) {
  const bool plain =
      !text.empty() &&
      std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isgraph(c) != 0 && c != '"' && c != '\\' && c != '=';
      });
  return plain ? std::string(text) : Dump(std::string(text));
}

std::string TextValue(const LogField& field) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    return TextOrQuoted(*text);
  }
  if (const auto* names =
          std::get_if<std::span<const std::string>>(&field.value)) {
    return TextOrQuoted(absl::StrJoin(*names, ","));
  }
  return Dump(ToJson(field));
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

void ConfigureLog(LogFormat format, LogLevel level) {
  TheOutput().format = format;
  TheOutput().logger.set_level(SpdlogLevel(level));
}

bool LogEnabled(LogLevel level) {
  return TheOutput().logger.should_log(SpdlogLevel(level));
}

void Log(LogLevel level, std::string_view event, LogFields fields) {
  if (!LogEnabled(level)) return;
  Output& output = TheOutput();
  const std::string line =
      FormatLogLine(output.format, absl::Now(), level, event, fields);
  output.logger.log(SpdlogLevel(level),
                    spdlog::string_view_t(line.data(), line.size()));
}

std::string FormatLogLine(LogFormat format, absl::Time time, LogLevel level,
                          std::string_view event, LogFields fields) {
  if (format == LogFormat::kJson) {
    Json json;
    json["time"] = TimeText(time);
    json["level"] = LogLevelName(level);
    json["event"] = event;
    for (const LogField& field : fields) {
      json[std::string(field.name)] = ToJson(field);
    }
    return Dump(json);
  }
  std::string line = TimeText(time);
  for (const std::string_view part : {LogLevelName(level), event}) {
    line.append(" ").append(part);
  }
  for (const LogField& field : fields) {
    line.append(" ").append(field.name).append("=").append(TextValue(field));
  }
  return line;
}

}  // namespace lossscaler::server
