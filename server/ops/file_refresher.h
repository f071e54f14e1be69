// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// FileRefresher: keeps tokens and certificates as their files are, and logs
// what becomes of them:
//
//   tokens_reloaded         tokens: how many are in force
//   tokens_reload_failed    error; the tokens before stay in force
//   tls_reloaded            subject, serial, not_after of the certificate
//   tls_reload_failed       error; certificates and key before stay in force
//   tls_certificate_expires, tls_certificate_expired
//                           subject, serial, not_after; a week before and once
//                           it has, again every day
//
// Thread safety: any thread. Looks never overlap.

#ifndef LOSSSCALER_SERVER_OPS_FILE_REFRESHER_H_
#define LOSSSCALER_SERVER_OPS_FILE_REFRESHER_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "lossscaler/sync/mutex.h"
#include "ops/certificate_expiry.h"
#include "ops/repeater.h"
#include "ops/tls_files.h"
#include "ops/token_file.h"

namespace lossscaler::server {

class FileRefresher {
 public:
  // Either may be null. They outlive this.
  FileRefresher(TokenFile* tokens, TlsFiles* tls);
  FileRefresher(const FileRefresher&) = delete;
  FileRefresher& operator=(const FileRefresher&) = delete;

  // Looks at the files on the calling thread.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);

  // Looks now and every `interval` from then on. Once at most.
  void Start(absl::Duration interval) { repeater_.Start(interval); }

  // No look comes after. May be repeated.
  void Stop() { repeater_.Stop(); }

  // Changed files that could not take the place of those in force.
  std::int64_t failed_tls_reloads() const { return failed_tls_reloads_; }
  std::int64_t failed_token_reloads() const { return failed_token_reloads_; }

 private:
  void LookAtTokens() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookAtTls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TokenFile* const tokens_;
  TlsFiles* const tls_;

  std::atomic<std::int64_t> failed_tls_reloads_ = 0;
  std::atomic<std::int64_t> failed_token_reloads_ = 0;

  Mutex mutex_;
  CertificateExpiry expiry_ ABSL_GUARDED_BY(mutex_);

  // Stops before the rest goes.
  Repeater repeater_;
};

}  // namespace lossscaler::server

#endif  // LOSSSCALER_SERVER_OPS_FILE_REFRESHER_H_
