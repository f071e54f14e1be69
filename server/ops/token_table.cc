// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/token_table.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/core/names.h"
#include "openssl/crypto.h"
#include "openssl/evp.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include "toml++/toml.h"

namespace lossscaler::server {
namespace {

std::optional<Role> RoleNamed(std::string_view name) {
  for (const Role role : {Role::kViewer, Role::kWorker, Role::kAdmin}) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

std::size_t LineOf(const toml::source_region& source) {
  return source.begin.line;
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
}

// OpenSSL looks the algorithm up by name; once is enough.
const EVP_MD* Sha256() {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return sha256;
}

}  // namespace

std::optional<TokenTable::Hash> TokenTable::HashOf(std::string_view token) {
  Hash hash{};
  if (EVP_Digest(token.data(), token.size(), hash.data(), nullptr, Sha256(),
                 nullptr) != 1) {
    return std::nullopt;
  }
  return hash;
}

class TokenTable::Reader {
 public:
  Reader(const WatchedFile& file, TokenTable* result)
      : file_(file), result_(result) {}

  absl::Status Read(const toml::table& table) {
    const std::size_t line = LineOf(table.source());
    Texts texts;
    if (const absl::Status status = ReadTexts(table, &texts); !status.ok()) {
      return status;
    }
    if (texts.name.empty() || texts.role.empty() || texts.sha256.empty()) {
      return FileError(file_,
                       "a [[token]] needs name, role and sha256, none of them "
                       "empty",
                       line);
    }
    absl::StatusOr<Caller> caller = CallerOf(texts, line);
    if (!caller.ok()) return caller.status();
    const absl::StatusOr<Hash> hash = HashIn(texts.sha256, line);
    if (!hash.ok()) return hash.status();
    for (const Entry& entry : result_->entries_) {
      if (entry.caller->name == caller->name) {
        return FileError(file_,
                         "another [[token]] has the same name; name each as "
                         "the log is to show it",
                         line);
      }
      if (entry.hash == *hash) {
        return FileError(file_,
                         "another [[token]] has the same sha256; make a token "
                         "for each with lossscalerctl make-token",
                         line);
      }
    }
    result_->entries_.push_back(
        {*hash, std::make_shared<const Caller>(*std::move(caller))});
    return absl::OkStatus();
  }

 private:
  struct Texts {
    std::string name, role, sessions, sha256;
  };

  absl::Status ReadTexts(const toml::table& table, Texts* texts) {
    const std::pair<std::string_view, std::string*> known[] = {
        {"name", &texts->name},
        {"role", &texts->role},
        {"sessions", &texts->sessions},
        {"sha256", &texts->sha256}};
    for (const auto& [key, node] : table) {
      const std::size_t line = LineOf(key.source());
      const std::string_view name = key.str();
      const auto* const found =
          std::find_if(std::begin(known), std::end(known),
                       [name](const auto& k) { return k.first == name; });
      if (found == std::end(known)) {
        return FileError(file_,
                         "there is a key that a [[token]] does not have; it "
                         "has name, role, sessions and sha256",
                         line);
      }
      const auto* const value = node.as_string();
      if (value == nullptr) {
        return FileError(
            file_, absl::StrCat(std::string(found->first), " is no string"),
            line);
      }
      *found->second = value->get();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Caller> CallerOf(const Texts& texts, std::size_t line) {
    if (!ValidateTokenName(texts.name).ok()) {
      return FileError(file_,
                       "name must be 1 to 63 letters, digits, '.', '_' or '-' "
                       "and start with a letter or digit",
                       line);
    }
    const std::optional<Role> role = RoleNamed(texts.role);
    if (!role.has_value()) {
      return FileError(file_, "role must be admin, worker or viewer", line);
    }
    if (!ValidateSessionPrefix(texts.sessions).ok()) {
      return FileError(file_,
                       "sessions must be what names of sessions start with, "
                       "such as \"team/\", or empty for all",
                       line);
    }
    return Caller{
        .name = texts.name, .role = *role, .sessions = texts.sessions};
  }

  absl::StatusOr<Hash> HashIn(const std::string& text, std::size_t line) {
    Hash hash{};
    if (text.size() != 2 * hash.size() || !IsHex(text)) {
      return FileError(file_,
                       "sha256 must be 64 hexadecimal digits: the SHA-256 of "
                       "the token, not the token; lossscalerctl make-token "
                       "prints it",
                       line);
    }
    const std::string bytes = absl::HexStringToBytes(text);
    std::copy(bytes.begin(), bytes.end(), hash.begin());
    if (hash == Hash{} || hash == HashOf("")) {
      return FileError(file_,
                       "sha256 is that of no token; take what lossscalerctl "
                       "make-token prints",
                       line);
    }
    return hash;
  }

  const WatchedFile& file_;
  TokenTable* const result_;
};

absl::StatusOr<TokenTable> TokenTable::Parse(const WatchedFile& file) {
  const toml::parse_result parsed =
      toml::parse(std::string_view(file.text), file.path);
  if (!parsed) {
    // The parser's own words may quote the text.
    return FileError(
        file,
        absl::StrCat("this is not TOML 1.0 (near column ",
                     parsed.error().source().begin.column,
                     "); write [[token]] and below it lines like name = "
                     "\"trainers\", each key once"),
        LineOf(parsed.error().source()));
  }
  TokenTable result;
  Reader reader(file, &result);
  for (const auto& [key, node] : parsed.table()) {
    const toml::array* const tokens = node.as_array();
    if (key.str() != "token" || tokens == nullptr) {
      return FileError(file, "there may be nothing but [[token]] tables",
                       LineOf(key.source()));
    }
    for (const toml::node& token : *tokens) {
      const toml::table* const table = token.as_table();
      if (table == nullptr) {
        return FileError(file, "there may be nothing but [[token]] tables",
                         LineOf(token.source()));
      }
      if (const absl::Status status = reader.Read(*table); !status.ok()) {
        return status;
      }
    }
  }
  if (result.entries_.empty()) {
    return FileError(file,
                     "has no [[token]], so that nobody could call; add what "
                     "lossscalerctl make-token prints");
  }
  return result;
}

std::shared_ptr<const Caller> TokenTable::Find(std::string_view token) const {
  const std::optional<Hash> hash = HashOf(token);
  if (!hash.has_value()) return nullptr;
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    const bool same =
        CRYPTO_memcmp(entry.hash.data(), hash->data(), hash->size()) == 0;
    found = same ? &entry : found;
  }
  return found == nullptr ? nullptr : found->caller;
}

}  // namespace lossscaler::server
