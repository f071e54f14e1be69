// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ctl/connection_flags.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ctl/value_flags.h"
#include "lossscaler/client/credentials.h"
#include "lossscaler/client/internal/local_address.h"
#include "lossscaler/core/error.h"

namespace lossscaler::ctl {
namespace {

constexpr absl::Duration kDefaultDeadline = absl::Seconds(10);
// There is still a connection to be made, however little is waited for.
constexpr absl::Duration kShortestAttempt = absl::Seconds(1);

using Flags = ConnectionFlags;

constexpr ConnectionSetting kAddress = {
    "--address", "LOSSSCALER_ADDRESS", "ADDRESS",
    "the server: host:port or unix:/path (default 127.0.0.1:50551)",
    &Flags::address};
constexpr ConnectionSetting kDeadline = {
    "--deadline", "LOSSSCALER_DEADLINE", "DURATION",
    "how long to wait for a server that is away, and up to twice as long for "
    "one that falls silent in a call: 500ms, 10s, 1m30s, up to 24h (default "
    "10s)",
    &Flags::deadline};
constexpr ConnectionSetting kTls = {
    "--tls", "LOSSSCALER_TLS", "",
    "use TLS and trust the authorities of this machine; the variable is 1 or 0",
    &Flags::tls};
constexpr ConnectionSetting kCa = {
    "--ca", "LOSSSCALER_CA_FILE", "FILE",
    "use TLS and trust the authorities in this PEM file", &Flags::ca_file};
constexpr ConnectionSetting kCertificate = {
    "--cert", "LOSSSCALER_CERT_FILE", "FILE",
    "use TLS and show this certificate chain (PEM) to the server",
    &Flags::certificate_file};
constexpr ConnectionSetting kKey = {
    "--key", "LOSSSCALER_KEY_FILE", "FILE",
    "the private key (PEM) that belongs to --cert", &Flags::key_file};
constexpr ConnectionSetting kTokenFile = {
    "--token-file", "LOSSSCALER_TOKEN_FILE", "FILE",
    "send the token in this file with every call; needs TLS unless the server "
    "is on this machine",
    &Flags::token_file};
// A flag would show the token to everybody who lists processes.
constexpr ConnectionSetting kToken = {"", "LOSSSCALER_TOKEN", "TOKEN",
                                      "the token itself; it has no flag",
                                      nullptr};

constexpr ConnectionSetting kCallId = {
    "--call-id", "LOSSSCALER_CALL_ID", "ID",
    "send this with every call, for the log of the server: at most 128 "
    "printable characters without blanks",
    &Flags::call_id};

constexpr ConnectionSetting kSettings[] = {kAddress,   kDeadline,    kTls,
                                           kCa,        kCertificate, kKey,
                                           kTokenFile, kToken,       kCallId};

// A value and what gave it, for errors.
struct Found {
  std::string value;
  std::string source;
};

Found Find(const Flags& flags, const ConnectionSetting& setting) {
  if (setting.given != nullptr && !(flags.*setting.given).empty()) {
    return {.value = flags.*setting.given, .source = setting.flag};
  }
  const char* const variable = std::getenv(setting.variable);
  if (variable == nullptr || *variable == '\0') return {};
  return {.value = variable, .source = setting.variable};
}

absl::Status SetDeadline(const Flags& flags, ClientOptions* options) {
  absl::Duration deadline = kDefaultDeadline;
  if (const Found found = Find(flags, kDeadline); !found.value.empty()) {
    const auto parsed = ParseValue<absl::Duration>(found.value);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(found.source, ": ", parsed.status().message()));
    }
    deadline = *parsed;
  }
  options->unavailable_budget = deadline;
  options->unary_deadline =
      std::clamp(deadline, kShortestAttempt, options->unary_deadline);
  options->stream_stall_timeout = std::max(deadline, kShortestAttempt);
  return absl::OkStatus();
}

// Whether TLS is asked for without naming a file.
absl::StatusOr<bool> PlainTls(const Flags& flags) {
  const Found found = Find(flags, kTls);
  if (found.value.empty() || found.value == "0" || found.value == "false") {
    return false;
  }
  if (found.value == "1" || found.value == "true") return true;
  return absl::InvalidArgumentError(absl::StrCat(
      found.source, ": ", Quoted(found.value), " is neither 1 nor 0"));
}

absl::Status SetTls(const Flags& flags, ClientOptions* options) {
  const absl::StatusOr<bool> plain = PlainTls(flags);
  if (!plain.ok()) return plain.status();
  const Found ca = Find(flags, kCa);
  const Found certificate = Find(flags, kCertificate);
  const Found key = Find(flags, kKey);
  if (certificate.value.empty() != key.value.empty()) {
    return absl::InvalidArgumentError(
        key.value.empty()
            ? absl::StrCat(certificate.source, " needs ", kKey.flag,
                           ", the private key of the certificate")
            : absl::StrCat(key.source, " needs ", kCertificate.flag,
                           ", the certificate of the key"));
  }
  if (!*plain && ca.value.empty() && certificate.value.empty()) {
    return absl::OkStatus();
  }
  absl::StatusOr<TlsOptions> tls =
      ReadTlsFiles(ca.value, certificate.value, key.value);
  if (!tls.ok()) return tls.status();
  options->tls = *std::move(tls);
  return absl::OkStatus();
}

absl::Status SetToken(const Flags& flags, ClientOptions* options) {
  const Found file = Find(flags, kTokenFile);
  const Found token = Find(flags, kToken);
  const bool by_flag = file.source == kTokenFile.flag;
  if (!by_flag && !file.value.empty() && !token.value.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("both ", file.source, " and ", token.source,
                     " are set; unset one of them"));
  }
  const Found& used = file.value.empty() ? token : file;
  if (used.value.empty()) return absl::OkStatus();
  if (!options->tls && !internal::IsLocalAddress(options->address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        used.source, " gives a token, and without TLS everybody on the way to ",
        Quoted(options->address), " could read it; add ", kTls.flag, " or ",
        kCa.flag));
  }
  absl::StatusOr<std::string> read =
      file.value.empty() ? token.value : ReadTokenFile(file.value);
  if (!read.ok()) return read.status();
  options->token = *std::move(read);
  return absl::OkStatus();
}

}  // namespace

std::span<const ConnectionSetting> ConnectionSettings() { return kSettings; }

void AddConnectionFlags(CLI::App* app, ConnectionFlags* flags) {
  for (const ConnectionSetting& setting : kSettings) {
    if (setting.given == nullptr) continue;
    const std::string help =
        absl::StrCat(setting.help, " [", setting.variable, "]");
    std::string& given = flags->*setting.given;
    if (*setting.value == '\0') {
      app->add_flag_callback(
          setting.flag, [&given] { given = "1"; }, help);
    } else {
      AddValueTo<std::string>(app, setting.flag, help, &given)
          ->type_name(setting.value);
    }
  }
}

absl::StatusOr<ClientOptions> MakeClientOptions(const ConnectionFlags& flags) {
  ClientOptions options;
  if (Found address = Find(flags, kAddress); !address.value.empty()) {
    options.address = std::move(address.value);
  }
  options.call_id = Find(flags, kCallId).value;
  absl::Status status = SetDeadline(flags, &options);
  if (status.ok()) status = SetTls(flags, &options);
  if (status.ok()) status = SetToken(flags, &options);
  if (!status.ok()) return status;
  return options;
}

}  // namespace lossscaler::ctl
