// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/make_token.h"

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ctl/failure.h"
#include "ctl/json_values.h"
#include "lossscaler/core/names.h"
#include "openssl/evp.h"
#include "openssl/rand.h"

namespace lossscaler::ctl {
namespace {

using Bytes = std::array<unsigned char, 32>;

std::string Text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

absl::StatusOr<std::string> RandomToken() {
  Bytes bytes = {};
  if (RAND_priv_bytes(bytes.data(), bytes.size()) != 1) {
    return absl::UnavailableError(
        "this machine has no random numbers to give; try again");
  }
  return absl::WebSafeBase64Escape(Text(bytes));
}

absl::StatusOr<std::string> Sha256Hex(const std::string& text) {
  Bytes hash = {};
  if (EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(),
                 nullptr) != 1) {
    return absl::InternalError("OpenSSL does not compute SHA-256 here");
  }
  return absl::BytesToHexString(Text(hash));
}

// Names, roles and prefixes have no character that TOML would escape.
std::string Toml(const TokenRequest& request, const std::string& sha256) {
  std::string table = absl::StrCat("[[token]]\nname = \"", request.name,
                                   "\"\nrole = \"", request.role, "\"\n");
  if (!request.sessions.empty()) {
    absl::StrAppend(&table, "sessions = \"", request.sessions, "\"\n");
  }
  return absl::StrCat(table, "sha256 = \"", sha256, "\"\n");
}

}  // namespace

int MakeToken(const Environment& environment, const TokenRequest& request,
              Format format) {
  absl::Status valid = ValidateTokenName(request.name);
  if (valid.ok()) valid = ValidateSessionPrefix(request.sessions);
  if (!valid.ok()) return Fail(environment, format, valid);
  const absl::StatusOr<std::string> token = RandomToken();
  if (!token.ok()) return Fail(environment, format, token.status());
  const absl::StatusOr<std::string> sha256 = Sha256Hex(*token);
  if (!sha256.ok()) return Fail(environment, format, sha256.status());
  const std::string table = Toml(request, *sha256);
  if (format == Format::kJson) {
    environment.out << Dump({{"name", request.name},
                             {"role", request.role},
                             {"sessions", request.sessions},
                             {"token", *token},
                             {"sha256", *sha256},
                             {"toml", table}})
                    << "\n";
  } else {
    // Not TOML: the token does not get into the server's file unnoticed.
    environment.out << "token: " << *token << "\n\n" << table;
  }
  return kDone;
}

}  // namespace lossscaler::ctl
