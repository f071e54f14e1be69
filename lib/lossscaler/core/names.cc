// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/core/names.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler {
namespace {

absl::Status BadSessionName(std::string_view name, std::size_t position,
                            const std::string& broken_rule) {
  return MakeError(
      Reason::kInvalidSessionName,
      absl::StrCat("session name ", Quoted(name), ": ", broken_rule,
                   " at byte ", position,
                   "; a name is segments joined by '/', each of 1 to ",
                   kMaxSegmentBytes,
                   " letters, digits, '.', '_' or '-' that starts with a "
                   "letter or digit, and ",
                   kMaxSessionNameBytes, " bytes in all"),
      {{"name", Quoted(name)}, {"position", absl::StrCat(position)}});
}

bool IsSegmentCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

absl::Status ValidateSessionName(std::string_view name) {
  if (name.size() > kMaxSessionNameBytes) {
    return BadSessionName(
        name, kMaxSessionNameBytes,
        absl::StrCat("it has ", name.size(), " bytes and is too long"));
  }
  std::size_t segment_begin = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i == name.size() || name[i] == '/') {
      if (i == segment_begin) {
        return BadSessionName(name, i, "a segment is empty");
      }
      segment_begin = i + 1;
    } else if (!IsSegmentCharacter(name[i])) {
      return BadSessionName(
          name, i,
          absl::StrCat("the character ", Quoted(name.substr(i, 1)),
                       " is not allowed"));
    } else if (i == segment_begin &&
               !absl::ascii_isalnum(static_cast<unsigned char>(name[i]))) {
      return BadSessionName(
          name, i,
          absl::StrCat("a segment starts with ", Quoted(name.substr(i, 1))));
    } else if (i - segment_begin == kMaxSegmentBytes) {
      return BadSessionName(name, i, "a segment is too long");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateSessionPrefix(std::string_view prefix) {
  if (prefix.empty()) return absl::OkStatus();
  if (!prefix.ends_with('/')) return ValidateSessionName(prefix);
  // The shortest name that it starts.
  return ValidateSessionName(absl::StrCat(std::string(prefix), "a"));
}

absl::Status ValidateTokenName(std::string_view name) {
  if (name.find('/') == std::string_view::npos &&
      ValidateSessionName(name).ok()) {
    return absl::OkStatus();
  }
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat("the name ", Quoted(name), " of a token must be 1 to ",
                   kMaxSegmentBytes,
                   " letters, digits, '.', '_' or '-' and start with a letter "
                   "or digit"),
      {{"field", "name"}, {"value", Quoted(name)}});
}

absl::Status ValidateId(std::string_view field, std::string_view id) {
  const bool printable = std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (!id.empty() && id.size() <= kMaxIdBytes && printable) {
    return absl::OkStatus();
  }
  const std::string what =
      id.empty() ? "is empty"
                 : absl::StrCat("is ", Quoted(id), " of ", id.size(), " bytes");
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat(std::string(field), " ", what, "; use 1 to ", kMaxIdBytes,
                   " printable ASCII characters without spaces, for example a "
                   "UUID"),
      {{"field", std::string(field)},
       {"value", Quoted(id)},
       {"bytes", absl::StrCat(id.size())}});
}

absl::Status ValidateRequestId(std::string_view request_id) {
  if (request_id.empty()) return absl::OkStatus();
  return ValidateId("request_id", request_id);
}

}  // namespace lossscaler
