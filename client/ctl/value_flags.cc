// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/value_flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

template <>
absl::StatusOr<absl::Duration> ParseValue(std::string_view text) {
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

absl::StatusOr<std::size_t> ParseWord(std::span<const std::string_view> words,
                                      std::string_view text) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    return Wrong(text, absl::StrCat("is not one of ", JoinWords(words)));
  }
  return found - words.begin();
}

std::string JoinWords(std::span<const std::string_view> words) {
  return absl::StrJoin(words, ", ",
                       [](std::string* out, auto word) { out->append(word); });
}

CLI::Option* AddWordFlag(CLI::App* app, const std::string& flag,
                         const std::string& help,
                         std::span<const std::string_view> words,
                         std::size_t by_default,
                         std::function<void(std::size_t)> set) {
  const auto parse = [words](std::string_view text) {
    return ParseWord(words, text);
  };
  return app
      ->add_option_function<std::string>(
          flag,
          [parse, set = std::move(set)](const std::string& text) {
            set(*parse(text));
          },
          absl::StrCat(help, ": ", JoinWords(words), " (default ",
                       std::string(words[by_default]), ")"))
      ->type_name("WORD")
      ->check(Check(parse));
}

CLI::App* AddExclusiveGroup(CLI::App* app, const std::string& name) {
  CLI::App* const group = app->add_option_group(name);
  // Groups inherit --help, which is none of the choices.
  group->set_help_flag();
  group->require_option(1);
  return group;
}

}  // namespace lossscaler::ctl
