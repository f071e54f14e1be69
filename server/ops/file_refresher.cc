// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/file_refresher.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "ops/log.h"

namespace lossscaler::server {
namespace {

void LogCertificate(LogLevel level, std::string_view event,
                    const CertificateFacts& facts) {
  Log(level, event,
      {{"subject", facts.subject},
       {"serial", facts.serial},
       {"not_after", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", facts.not_after,
                                      absl::UTCTimeZone())}});
}

}  // namespace

FileRefresher::FileRefresher(TokenFile* tokens, TlsFiles* tls)
    : tokens_(tokens), tls_(tls), repeater_([this] { Look(); }) {}

void FileRefresher::Look() {
  MutexLock lock(&mutex_);
  if (tokens_ != nullptr) LookAtTokens();
  if (tls_ != nullptr) LookAtTls();
}

void FileRefresher::LookAtTokens() {
  const std::optional<absl::Status> news = tokens_->Refresh();
  if (!news.has_value()) return;
  if (news->ok()) {
    Log(LogLevel::kInfo, "tokens_reloaded", {{"tokens", tokens_->size()}});
  } else {
    ++failed_token_reloads_;
    Log(LogLevel::kError, "tokens_reload_failed",
        {{"error", std::string(news->message())}});
  }
}

void FileRefresher::LookAtTls() {
  const std::optional<absl::Status> news = tls_->Refresh();
  const std::shared_ptr<const TlsIdentity> identity = tls_->Get();
  if (news.has_value() && news->ok()) {
    LogCertificate(LogLevel::kInfo, "tls_reloaded", identity->facts);
  } else if (news.has_value()) {
    ++failed_tls_reloads_;
    Log(LogLevel::kError, "tls_reload_failed",
        {{"error", std::string(news->message())}});
  }
  switch (expiry_.Look(identity->facts.not_after, absl::Now())) {
    case CertificateExpiry::Reminder::kNone:
      break;
    case CertificateExpiry::Reminder::kExpiresSoon:
      LogCertificate(LogLevel::kWarning, "tls_certificate_expires",
                     identity->facts);
      break;
    case CertificateExpiry::Reminder::kExpired:
      LogCertificate(LogLevel::kError, "tls_certificate_expired",
                     identity->facts);
      break;
  }
}

}  // namespace lossscaler::server
