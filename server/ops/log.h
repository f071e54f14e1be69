// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// The log: events with fields, one line each, as text or as JSON.
//
//   Log(LogLevel::kInfo, "session_created", {{"session", name}});
//
//   2026-11-30T07:04:20.061Z info session_created session=team/run
//   {"time":"2026-11-30T07:04:20.061Z","level":"info",
//    "event":"session_created","session":"team/run"}       (on one line)
//
// A list of names is an array in JSON, and names joined by commas in text.
//
// A line stays one line and a JSON line stays valid JSON whatever the values
// contain: control characters are escaped, bytes that are not UTF-8 replaced.
//
// Thread safety: any thread, at any time. The log is the process's, not a
// server's.

#ifndef LOSSSCALER_SERVER_OPS_LOG_H_
#define LOSSSCALER_SERVER_OPS_LOG_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "absl/time/time.h"

namespace lossscaler::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// "debug", "info", "warning", "error".
std::string_view LogLevelName(LogLevel level);

// A name and a value. The value's text must outlive the call it is passed to.
struct LogField {
  LogField(std::string_view field_name, std::string_view text)
      : name(field_name), value(text) {}
  LogField(std::string_view field_name, const std::string& text)
      : name(field_name), value(std::string_view(text)) {}
  LogField(std::string_view field_name, const char* text)
      : name(field_name), value(std::string_view(text)) {}
  LogField(std::string_view field_name, bool flag)
      : name(field_name), value(flag) {}
  template <std::integral T>
  LogField(std::string_view field_name, T number)
      : name(field_name), value(static_cast<std::int64_t>(number)) {}
  LogField(std::string_view field_name, double number)
      : name(field_name), value(number) {}
  LogField(std::string_view field_name, std::span<const std::string> names)
      : name(field_name), value(names) {}

  std::string_view name;
  std::variant<std::string_view, bool, std::int64_t, double,
               std::span<const std::string>>
      value;
};

// Fields in braces, or in a container that outlives the call.
class LogFields {
 public:
  LogFields(std::initializer_list<LogField> fields)
      : fields_(fields.begin(), fields.size()) {}
  explicit LogFields(std::span<const LogField> fields) : fields_(fields) {}

  const LogField* begin() const { return fields_.data(); }
  const LogField* end() const { return fields_.data() + fields_.size(); }

 private:
  std::span<const LogField> fields_;
};

// Events below `level` are dropped from now on. Before the first call the log
// is text on stderr from kInfo up.
void ConfigureLog(LogFormat format, LogLevel level);

void Log(LogLevel level, std::string_view event, LogFields fields = {});

// Whether Log() would write such an event: for those to whom its fields cost
// something.
bool LogEnabled(LogLevel level);

// The line, without its end, that Log() writes.
std::string FormatLogLine(LogFormat format, absl::Time time, LogLevel level,
                          std::string_view event, LogFields fields);

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_LOG_H_
