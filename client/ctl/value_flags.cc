// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/value_flags.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

constexpr absl::Duration kLongestDeadline = absl::Hours(24);

absl::Status Wrong(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text), " ", std::string(what)));
}

template <typename T>
absl::StatusOr<T> Parse(std::string_view text, std::string_view what,
                        std::string_view range) {
  T value{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return Wrong(text, range);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Wrong(text, what);
  }
  return value;
}

}  // namespace

template <>
absl::StatusOr<std::string> ParseValue(std::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("is empty");
  return std::string(text);
}

template <>
absl::StatusOr<std::int64_t> ParseValue(std::string_view text) {
  return Parse<std::int64_t>(text, "is not a whole number",
                             "does not fit in 64 bits");
}

template <>
absl::StatusOr<double> ParseValue(std::string_view text) {
  return Parse<double>(text, "is not a number",
                       "is outside the range of float64");
}

template <>
absl::StatusOr<float> ParseValue(std::string_view text) {
  return Parse<float>(text, "is not a number",
                      "is outside the range of float32");
}

CLI::App* AddExclusiveGroup(CLI::App* app, const std::string& name) {
  CLI::App* const group = app->add_option_group(name);
  // Groups inherit --help, which is none of the choices.
  group->set_help_flag();
  group->require_option(1);
  return group;
}

absl::StatusOr<absl::Duration> ParseDeadline(std::string_view text) {
  if (const auto number = ParseValue<double>(text);
      number.ok() && std::isfinite(*number)) {
    return Wrong(text, absl::StrCat("has no unit; add one, such as ",
                                    std::string(text), "s"));
  }
  absl::Duration duration;
  if (!absl::ParseDuration(absl::string_view(text.data(), text.size()),
                           &duration)) {
    return Wrong(text, "is not a duration, such as 10s, 500ms or 1m30s");
  }
  if (duration < absl::ZeroDuration() || duration > kLongestDeadline) {
    return Wrong(text, "is not between 0s and 24h");
  }
  return duration;
}

}  // namespace lossscaler::ctl
