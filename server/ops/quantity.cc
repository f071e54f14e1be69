// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/quantity.h"

#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace lossscaler::server {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits = {{
    {"TiB", std::int64_t{1} << 40},
    {"GiB", std::int64_t{1} << 30},
    {"MiB", std::int64_t{1} << 20},
    {"KiB", std::int64_t{1} << 10},
    {"B", 1},
}};

}  // namespace

std::optional<absl::Duration> ParseDuration(std::string_view text) {
  // absl also takes signs, "inf" and a bare "0".
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0 ||
      std::isalpha(static_cast<unsigned char>(text.back())) == 0) {
    return std::nullopt;
  }
  absl::Duration duration;
  if (!absl::ParseDuration(std::string(text), &duration) ||
      duration == absl::InfiniteDuration()) {
    return std::nullopt;
  }
  return duration;
}

std::optional<std::int64_t> ParseBytes(std::string_view text) {
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::optional<std::int64_t> count =
        ParseInteger(text.substr(0, text.size() - unit.size()));
    if (!count.has_value() || *count < 0 ||
        *count > std::numeric_limits<std::int64_t>::max() / factor) {
      return std::nullopt;
    }
    return *count * factor;
  }
  return std::nullopt;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string FormatBytes(std::int64_t bytes) {
  for (const auto& [unit, factor] : kUnits) {
    if (bytes % factor == 0 && bytes >= factor) {
      return std::to_string(bytes / factor).append(unit);
    }
  }
  return "0B";
}

}  // namespace lossscaler::server
