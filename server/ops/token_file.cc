// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/token_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/error.h"

namespace lossscaler::server {
namespace {

constexpr std::string_view kScheme = "Bearer";

absl::Status Required() {
  return MakeError(Reason::kTokenRequired,
                   "this server wants a token with every call, and the call "
                   "carries none; send it as \"authorization: Bearer TOKEN\" "
                   "(ClientOptions::token, lossscalerctl --token-file); who "
                   "runs the server hands them out");
}

absl::Status Unknown() {
  return MakeError(Reason::kTokenUnknown,
                   "the call carries a token that this server does not know, "
                   "or no longer; send one that is in force; who runs the "
                   "server hands them out");
}

// nullopt: it does not carry any.
std::optional<std::string_view> BearerToken(std::string_view header) {
  const std::string_view scheme = header.substr(0, header.find(' '));
  if (!absl::EqualsIgnoreCase(
          absl::string_view(scheme.data(), scheme.size()),
          absl::string_view(kScheme.data(), kScheme.size()))) {
    return std::nullopt;
  }
  header.remove_prefix(scheme.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  if (header.empty()) return std::nullopt;
  return header;
}

bool IsTokenText(std::string_view token) {
  return std::all_of(token.begin(), token.end(),
                     [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(
    const std::string& path) {
  absl::StatusOr<std::unique_ptr<Table>> table =
      Table::Open([path] { return ReadWatchedFile("token_file", path); },
                  [](const WatchedFile& file) -> absl::StatusOr<TokenTable> {
                    const absl::Status closed = CheckClosedToOthers(file);
                    if (!closed.ok()) return closed;
                    return TokenTable::Parse(file);
                  });
  if (!table.ok()) return table.status();
  return std::unique_ptr<TokenFile>(new TokenFile(*std::move(table)));
}

absl::StatusOr<std::shared_ptr<const Caller>> TokenFile::Identify(
    std::string_view authorization) const {
  // What cannot be a token costs no hash.
  if (authorization.size() > kMaxHeaderBytes) return Unknown();
  const std::optional<std::string_view> token = BearerToken(authorization);
  if (!token.has_value()) return Required();
  if (!IsTokenText(*token)) return Unknown();
  std::shared_ptr<const Caller> caller = table_->Get()->Find(*token);
  if (caller == nullptr) return Unknown();
  return caller;
}

}  // namespace lossscaler::server
