// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/npy/literal.h"

#include <algorithm>
#include <limits>

namespace lossscaler::ctl {
namespace {

constexpr std::string_view kSpace = " \t\n\r\f";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void LiteralReader::SkipSpace() {
  next_ = std::min(text_.find_first_not_of(kSpace, next_), text_.size());
}

bool LiteralReader::At(char symbol) {
  SkipSpace();
  return next_ < text_.size() && text_[next_] == symbol;
}

bool LiteralReader::Take(char symbol) {
  if (!At(symbol)) return false;
  ++next_;
  return true;
}

bool LiteralReader::AtEnd() {
  SkipSpace();
  return next_ == text_.size();
}

std::optional<std::string_view> LiteralReader::TakeString() {
  for (const char quote : {'\'', '"'}) {
    if (!At(quote)) continue;
    const std::size_t end = text_.find(quote, next_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(next_ + 1, end - next_ - 1);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    next_ = end + 1;
    return inside;
  }
  return std::nullopt;
}

bool LiteralReader::AtUnclosedString() {
  if (!At('\'') && !At('"')) return false;
  return text_.find(text_[next_], next_ + 1) == std::string_view::npos;
}

std::optional<bool> LiteralReader::TakeBool() {
  SkipSpace();
  for (const bool value : {false, true}) {
    const std::string_view word = value ? "True" : "False";
    if (text_.substr(next_, word.size()) != word) continue;
    next_ += word.size();
    return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> LiteralReader::TakeSize() {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  SkipSpace();
  std::size_t end = next_;
  std::uint64_t value = 0;
  for (; end < text_.size() && IsDigit(text_[end]); ++end) {
    const std::uint64_t digit = static_cast<std::uint64_t>(text_[end] - '0');
    if (value > (kMost - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  // Python allows no zeros in front.
  const bool zero_first = end > next_ + 1 && text_[next_] == '0';
  if (end == next_ || zero_first) return std::nullopt;
  if (end < text_.size() && text_[end] == 'L') ++end;
  next_ = end;
  return value;
}

std::string_view LiteralReader::TakeAnything() {
  SkipSpace();
  const std::size_t begin = next_;
  std::size_t depth = 0;
  char quote = '\0';
  for (; next_ < text_.size(); ++next_) {
    const char c = text_[next_];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '(' || c == '{') {
      ++depth;
    } else if (c == ']' || c == ')' || c == '}') {
      if (depth == 0) break;
      --depth;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  const std::string_view taken = text_.substr(begin, next_ - begin);
  return taken.substr(0, taken.find_last_not_of(kSpace) + 1);
}

}  // namespace lossscaler::ctl
