// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// Values of flags, read strictly: the whole text or nothing, in decimal, and
// within the range of the type.
//
// Thread safety: free functions without state.

#ifndef LOSSSCALER_CTL_VALUE_FLAGS_H_
#define LOSSSCALER_CTL_VALUE_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace lossscaler::ctl {

// What it reads text as: std::string, std::int64_t, double, float or
// absl::Duration. "inf" and "nan" are numbers; a duration is "10s", "500ms" or
// "1m30s", not negative and at most 24 hours. The error says what is wrong with
// the text.
template <typename T>
absl::StatusOr<T> ParseValue(std::string_view text);
template <>
absl::StatusOr<std::string> ParseValue(std::string_view text);
template <>
absl::StatusOr<std::int64_t> ParseValue(std::string_view text);
template <>
absl::StatusOr<double> ParseValue(std::string_view text);
template <>
absl::StatusOr<float> ParseValue(std::string_view text);
template <>
absl::StatusOr<absl::Duration> ParseValue(std::string_view text);

// The index of `text` in `words`, which the error lists.
absl::StatusOr<std::size_t> ParseWord(std::span<const std::string_view> words,
                                      std::string_view text);
// "one, two, three".
std::string JoinWords(std::span<const std::string_view> words);

// How the help spells a value of the type.
template <typename T>
inline constexpr std::string_view kValueName = "NUMBER";
template <>
inline constexpr std::string_view kValueName<std::string> = "TEXT";
template <>
inline constexpr std::string_view kValueName<std::int64_t> = "N";
template <>
inline constexpr std::string_view kValueName<absl::Duration> = "DURATION";

// A group of flags of which exactly one is given.
CLI::App* AddExclusiveGroup(CLI::App* app, const std::string& name);

// A validator that says what `parse` (std::string_view to absl::StatusOr)
// says.
template <typename Parse>
CLI::Validator Check(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        return std::string(parse(std::string_view(text)).status().message());
      },
      "");
}

// A flag or, without dashes, an argument with a value, handed to `set`.
template <typename T>
CLI::Option* AddValue(CLI::App* app, const std::string& names,
                      const std::string& help, std::function<void(T)> set) {
  return app
      ->add_option_function<std::string>(
          names, [set](const std::string& text) { set(*ParseValue<T>(text)); },
          help)
      ->type_name(std::string(kValueName<T>))
      ->check(Check(ParseValue<T>));
}

// The same, for anything that a T can be assigned to.
template <typename T, typename Target>
CLI::Option* AddValueTo(CLI::App* app, const std::string& names,
                        const std::string& help, Target* target) {
  return AddValue<T>(app, names, help,
                     [target](T value) { *target = std::move(value); });
}

// A flag whose value is one of `words`; `set` is called with its index.
CLI::Option* AddWordFlag(CLI::App* app, const std::string& flag,
                         const std::string& help,
                         std::span<const std::string_view> words,
                         std::size_t by_default,
                         std::function<void(std::size_t)> set);

// An argument of one value or more.
template <typename T>
CLI::Option* AddValues(CLI::App* app, const std::string& name,
                       const std::string& help, std::vector<T>* values) {
  return app
      ->add_option_function<std::vector<std::string>>(
          name,
          [values](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              values->push_back(*ParseValue<T>(text));
            }
          },
          help)
      ->required()
      ->check(Check(ParseValue<T>));
}

}  // namespace lossscaler::ctl

#endif  // LOSSSCALER_CTL_VALUE_FLAGS_H_
