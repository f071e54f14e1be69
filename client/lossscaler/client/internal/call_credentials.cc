// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "lossscaler/client/internal/call_credentials.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lossscaler/client/internal/bearer_token.h"
#include "lossscaler/client/internal/local_address.h"
#include "lossscaler/client/internal/pem_check.h"
#include "lossscaler/core/error.h"

namespace lossscaler::internal {
namespace {

// What a server logs of it.
constexpr std::size_t kMaxCallIdBytes = 128;

absl::Status CheckTls(const TlsOptions& tls) {
  const bool has_chain = !tls.certificate_chain.empty();
  if (has_chain == !tls.private_key.empty()) return CheckPem(tls);
  const std::string given = has_chain ? "a certificate chain" : "a private key";
  const std::string missing =
      has_chain ? "a private key" : "a certificate chain";
  return MakeError(
      Reason::kInvalidCredentials,
      absl::StrCat("the TLS options have ", given, " but not ", missing,
                   "; expected both or neither; nothing was sent"),
      {{"given", given}, {"missing", missing}});
}

absl::Status CheckToken(const ClientOptions& options) {
  const std::string wrong = WhatIsWrongWithToken(options.token);
  if (!wrong.empty()) {
    return MakeError(
        Reason::kInvalidCredentials,
        absl::StrCat("the token ", wrong, "; expected at most ", kMaxTokenBytes,
                     " printable ASCII characters without blanks; nothing was "
                     "sent"),
        {{"limit", absl::StrCat(kMaxTokenBytes)}});
  }
  if (options.tls || IsLocalAddress(options.address)) return absl::OkStatus();
  return MakeError(
      Reason::kInvalidCredentials,
      absl::StrCat("without TLS the token would go to ",
                   Quoted(options.address),
                   " for everybody on the way to read; nothing was sent: use "
                   "TLS, or an address of this machine"),
      {{"address", options.address}});
}

absl::Status CheckCallId(const std::string& call_id) {
  const bool printable =
      std::all_of(call_id.begin(), call_id.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      });
  if (printable && call_id.size() <= kMaxCallIdBytes) return absl::OkStatus();
  return MakeError(
      Reason::kInvalidField,
      absl::StrCat("call_id is ", Quoted(call_id), " of ", call_id.size(),
                   " bytes; use at most ", kMaxCallIdBytes,
                   " printable ASCII characters without spaces, for example a "
                   "UUID; nothing was sent"),
      {{"field", "call_id"},
       {"value", Quoted(call_id)},
       {"bytes", absl::StrCat(call_id.size())},
       {"limit", absl::StrCat(kMaxCallIdBytes)}});
}

}  // namespace

absl::Status CheckCredentials(const ClientOptions& options) {
  absl::Status status;
  if (options.tls) status = CheckTls(*options.tls);
  if (status.ok() && !options.token.empty()) status = CheckToken(options);
  if (status.ok()) status = CheckCallId(options.call_id);
  return status;
}

void AddHeaders(const ClientOptions& options, grpc::ClientContext* context) {
  if (!options.token.empty()) {
    context->AddMetadata("authorization",
                         absl::StrCat("Bearer ", options.token));
  }
  if (!options.call_id.empty()) {
    context->AddMetadata("x-request-id", options.call_id);
  }
}

}  // namespace lossscaler::internal
